#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants each violation in a small tree and expects tidy to find exactly that."""

import pathlib
import tempfile
import unittest

import tidy
import wording

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


class TidyTest(unittest.TestCase):
    def findings(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return tidy.run(root)

    def check(self, name, body, expected, listed=True):
        files = {name: LICENCE + body}
        if listed:
            folder, file = name.rsplit("/", 1)
            files[folder + "/CMakeLists.txt"] = f"motley_library(x SOURCES {file})\n"
        found = self.findings(files)
        if expected is None:
            self.assertEqual(found, [])
        else:
            self.assertEqual(len(found), 1, found)
            self.assertIn(expected, found[0])

    def test_clean_file_has_no_findings(self):
        self.check("base/a.cc", '#include "base/status.h"\n\nint F() { return 1; }\n', None)

    def test_include_against_the_order_is_found(self):
        self.check("coding/a.cc", '#include "transport/header.h"\n', "may not include transport/")

    def test_third_party_outside_its_files_is_found(self):
        self.check("scheduler/a.cc", "#include <Eigen/Dense>\n", "belongs to")

    def test_each_banned_call_is_found(self):
        for call in ("auto t = std::chrono::steady_clock::now();", "std::random_device d;",
                     "int x = rand();", "std::this_thread::sleep_for(s);", "std::mutex m;",
                     "tbb::parallel_reduce(r);", "std::cout << 1;", "double d = std::stod(text);",
                     'const char* e = getenv("X");', "throw 1;", "assert(x);"):
            with self.subTest(call):
                self.check("scheduler/a.cc", f"void F() {{\n  {call}\n}}\n", "banned here")

    def test_banned_words_in_comments_are_fine(self):
        self.check("scheduler/a.cc", "// Never std::mutex or sleep_for here.\n", None)

    def test_cuda_sources_are_held_to_the_same(self):
        self.check("devices/a.cu", "void F() {\n  throw 1;\n}\n", "banned here")
        self.check("devices/a.cuh", "int x;\n" * 250, "the limit is 250")
        self.check("devices/a.cu", "int x;\n", "not in any", listed=False)
        self.check("devices/a.cuh", '#include "training/a.h"\n', "may not include training/")
        self.check("devices/cuda/a.cu", "#include <cuda_runtime_api.h>\n", None)
        self.check("devices/a.cu", "#include <cublas_v2.h>\n", "belongs to")

    def test_long_file_is_found(self):
        self.check("base/a.cc", "int x;\n" * 500, "the limit is 500")

    def test_long_header_is_found(self):
        self.check("base/a.h", "int x;\n" * 250, "the limit is 250")

    def test_command_that_looks_behind_the_library_is_found(self):
        for header, found in (("api/request/job_plan.h", "not api/"), ("motley/motley.h", None),
                              ("cli/report/table.h", None)):
            self.check("cli/commands/train_command.h", f'#pragma once\n#include "{header}"\n', found)
        self.check("cli/commands/simulate_command.h", '#pragma once\n#include "api/request/job_plan.h"\n', None)

    def test_long_function_is_found(self):
        self.check("base/a.cc", "void F(int a) {\n" + "  a = 1;\n" * 70 + "}\n", "function of 72")

    def test_long_method_is_found(self):
        body = "namespace m {\nclass C {\n  int F(int a) {\n" + "    a = 1;\n" * 70 + "  }\n};\n}\n"
        self.check("base/a.cc", body, "function of 72")

    def test_long_line_is_found(self):
        self.check("base/a.cc", "// " + "x" * 100 + "\n", "columns")

    def test_missing_licence_is_found(self):
        found = self.findings({"base/a.h": "int x;\n"})
        self.assertIn("licence", found[0])

    def test_unregistered_source_is_found(self):
        self.check("base/a.cc", "int x;\n", "not in any CMakeLists.txt", listed=False)

    def test_code_missing_from_the_list_is_found(self):
        found = self.findings({
            "coding/codes/new_code.cc": LICENCE,
            "coding/schemes.cc": LICENCE + '#include "coding/old_code.h"\n',
            "coding/CMakeLists.txt": "SOURCES codes/new_code.cc schemes.cc\n"})
        self.assertEqual(found, ["coding/codes/new_code.cc:1: not registered in coding/schemes.cc"])

    def test_marks_are_found(self):
        self.check("base/a.cc", "// TO" + "DO: later\n", "issue number")
        self.check("base/a.cc", "// TO" + "DO(#12): later\n", None)
        self.check("tests/a.cc", "TEST(A, DIS" + "ABLED_B) {}\n", "not tests")
        self.check("tests/a.cc", "GTEST_SK" + "IP();\n", "needs its reason")
        self.check("base/string_utils.cc", "int x;\n", "no file is called utils")

    def test_full_folder_is_found(self):
        files = {f"base/f{i}.h": LICENCE for i in range(31)}
        self.assertEqual(self.findings(files), ["base:0: 31 files; the limit is 30"])
        self.assertEqual(self.findings({f"docs/decisions/f{i}.h": LICENCE for i in range(31)}), [])

    def test_large_class_is_found(self):
        functions = "".join(f"  void F{i}(int a, int b);\n" for i in range(30))
        virtuals = "".join(f"  virtual int G{i}() const = 0;\n" for i in range(10))
        members = "".join(f"  std::map<int, int> m{i}_ = {{}};\n" for i in range(12))
        self.check("base/a.h", f"class A {{\n public:\n{functions}\n private:\n{members}}};\n", None)
        self.check("base/a.h", f"class A {{\n public:\n{functions}  ~A() {{ F1(1, 2); }}\n}};\n", "31 methods")
        self.check("base/a.h", f"class A : public B {{\n{members}  int more_ = 0;\n}};\n", "13 data members")
        self.check("base/a.h", f"class A {{\n{virtuals}  virtual void H();\n}};\n", "11 virtual functions")
        self.check("base/a.h", f"struct Options {{\n{members}  int more_ = 0;\n}};\n", None)

    def test_bodies_and_classes_within_are_not_counted(self):
        body = "".join("    int value = F(1);\n" for _ in range(40))
        self.check("base/a.h", f"class A {{\n  void F() {{\n{body}  }}\n  struct In {{\n{body}  }};\n}};\n", None)

    def test_exceptions_are_of_today(self):
        root = pathlib.Path(tidy.__file__).resolve().parents[2]
        for name, cls, what in tidy.LARGE_CLASSES:
            counts = {found[1]: found[2:] for found in tidy.class_counts((root / name).read_text().split("\n"))}
            self.assertGreater(counts[cls][list(tidy.CLASS_LIMITS).index(what)], tidy.CLASS_LIMITS[what], name)

    def test_retired_word_is_found(self):
        for line in ("// This is want of memory.", "// Whether it is so.", "WorkDesk desk;",
                     "// What people read."):
            self.check("tests/new/a.h", line + "\n", "1 lines with retired words")
        self.check("base/a.h", "// The queue is empty. Often.\nint described = 0;\n", None)

    def test_counts_of_retired_words_are_of_today(self):
        root = pathlib.Path(tidy.__file__).resolve().parents[2]
        self.assertEqual(dict(wording.today(root, tidy.files(root))), wording.ALLOWED, "see wording.py --counts")

    def test_subfolder_out_of_order_is_found(self):
        self.check("coding/kernels/a.h", '#include "coding/codes/b.h"\n', "may not include coding/codes/")
        self.check("coding/codes/a.h", '#include "coding/kernels/b.h"\n', None)
        self.check("coding/codes/a.h", '#include "coding/code_form.h"\n', None)
        self.check("coding/new_one/a.h", "int x;\n", "has no place in SUBFOLDERS")

    def test_link_that_leads_nowhere_is_found(self):
        page = "# A title\n\n[one](how-to/a.md), [two](#a-title), [three](https://a.b/c)\n"
        files = {"docs/README.md": page, "docs/how-to/a.md": "# What `a` is: it's\n[up](../README.md#a-title)\n"}
        self.assertEqual(self.findings(files), [])
        for line, expected in (("[a](how-to/b.md)", "leads nowhere"), ("[a](#b)", "names no heading"),
                               ("[a](how-to/a.md#b)", "names no heading"), ("see docs/b.md", "does not exist")):
            with self.subTest(line):
                found = self.findings(files | {"docs/README.md": page + line + "\n"})
                self.assertEqual(len(found), 1, found)
                self.assertIn(expected, found[0])
        self.assertEqual(self.findings(files | {"docs/README.md": page + "[a](how-to/a.md#what-a-is-its)\n"}), [])
        self.check("base/a.h", "// docs/none.md says why.\n", "docs/none.md does not exist")

    def test_table_that_names_a_missing_file_is_found(self):
        for named, expected in (("base/a.md", 0), ("base/a.md/.cc", 1), ("base/x_a.h", 0), ("base/b/", 1)):
            with self.subTest(named):
                found = self.findings({"base/a.md": "", "CONTRIBUTING.md": f"| a | `{named}` |\n"})
                self.assertEqual(len(found), expected, found)


if __name__ == "__main__":
    unittest.main()
