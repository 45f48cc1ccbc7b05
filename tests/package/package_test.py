#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others build against: exported symbols, headers, the installed tree and the example.

Run by ctest, which names the build in the environment."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["MOTLEY_SOURCE"])
BUILD = pathlib.Path(os.environ["MOTLEY_BUILD"])
LIBRARY = pathlib.Path(os.environ["MOTLEY_LIBRARY"])
HEADERS = sorted((SOURCE / "include" / "motley").glob("*.h"))
SANITIZED = bool(os.environ.get("MOTLEY_SANITIZE"))


def run(*command, fails=False, **options):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          timeout=240, **options)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def exported(library):
    """Names of the dynamic symbols that a library defines; versions themselves are no symbols."""
    names = set()
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":
            names.add(name.split("@")[0])
    return names


class Symbols(unittest.TestCase):
    def declared(self):
        names = set()
        for header in HEADERS:
            text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
            names |= set(re.findall(r"MOTLEY_API[^;(]*?\b(motley_\w+)\s*\(", text))
        return names

    def test_the_library_shows_what_the_headers_declare_and_nothing_else(self):
        self.assertGreater(len(self.declared()), 15)
        self.assertEqual(exported(LIBRARY), self.declared())

    def test_the_reference_has_a_line_of_use_for_each_function(self):
        page = (SOURCE / "docs" / "reference" / "c-api.md").read_text()
        listed = re.findall(r"^\| `(motley_\w+)` \| .*(?:`|\w).* \|$", page, re.M)
        self.assertEqual(sorted(listed), sorted(self.declared()))

    def test_each_function_is_tested_from_c_or_cpp(self):
        files = [path for path in (SOURCE / "tests").rglob("*") if path.suffix in (".c", ".cc", ".h")]
        code = "".join(path.read_text() for path in files)
        self.assertEqual([name for name in sorted(self.declared()) if not re.search(rf"\b{name}\b", code)], [])

    def test_a_module_shows_its_entry_alone(self):
        modules = sorted((BUILD / "modules").glob("*.so"))
        self.assertTrue(modules)
        for module in modules:
            kind = "kernels" if "-cpu-" in module.name else "mpi" if module.stem == "motley-mpi" else "driver"
            self.assertEqual(exported(module), {f"motley_{kind}_get"}, module.name)

    def test_the_library_names_its_generation(self):
        self.assertIn("libmotley.so.1", run("readelf", "-d", LIBRARY))
        self.assertIn("MOTLEY_1", run("readelf", "-V", LIBRARY))

    def test_the_library_stays_when_a_program_closes_it(self):
        self.assertIn("NODELETE", run("readelf", "-d", LIBRARY))


class Interface(unittest.TestCase):
    """The record of the C API's first generation, and what its tool notices."""

    RECORD = SOURCE / "packaging" / "abi" / "1.txt"

    def compare(self, headers, *, record=RECORD, fails=False):
        done = subprocess.run([SOURCE / "packaging" / "abi" / "record.py", "--compare", record, headers, LIBRARY],
                              text=True, capture_output=True, timeout=240)
        self.assertEqual(done.returncode, 1 if fails else 0, done.stderr)
        return done.stderr

    def test_what_programs_were_built_against_has_not_changed(self):
        self.compare(SOURCE / "include" / "motley")

    def test_changes_are_noticed(self):
        for name, old, new, words in (
                ("trainer.h", "uint64_t state_count;", "uint32_t state_count;", "uint64_t state_count: gone"),
                ("work.h", "uint32_t group;", "uint64_t group;", "struct motley_run of 32 bytes: now 40"),
                ("event.h", "MOTLEY_EVENT_NOTICE = 10", "MOTLEY_EVENT_NOTICE = 20", "MOTLEY_EVENT_NOTICE = 10:"),
                ("step.h", "uint64_t samples_done);", "uint32_t samples_done);", "motley_step_partial"),
                ("metrics.h", "const char* name;", "", "const char* name: gone")):
            with self.subTest(change=new), tempfile.TemporaryDirectory() as folder:
                headers = pathlib.Path(folder) / "motley"
                shutil.copytree(SOURCE / "include" / "motley", headers)
                text = (headers / name).read_text()
                self.assertIn(old, text)
                (headers / name).write_text(text.replace(old, new, 1))
                self.assertIn(words, self.compare(headers, fails=True))

    def test_structs_grow_behind_their_old_end(self):
        with tempfile.TemporaryDirectory() as folder:
            headers = pathlib.Path(folder) / "motley"
            shutil.copytree(SOURCE / "include" / "motley", headers)
            loop = (headers / "step.h").read_text()
            (headers / "step.h").write_text(loop.replace("} motley_loop;", "  uint32_t more;\n} motley_loop;"))
            self.compare(headers)
            # A record in which the struct ended with padding.
            padded = pathlib.Path(folder) / "old.txt"
            padded.write_text(self.RECORD.read_text().replace("struct motley_loop of 24 bytes",
                                                              "struct motley_loop of 32 bytes"))
            self.assertIn("within the 32 bytes of before", self.compare(headers, record=padded, fails=True))


class Headers(unittest.TestCase):
    def compile_all(self, compiler, language, *flags):
        with tempfile.TemporaryDirectory() as folder:
            # Each header compiles alone, and may be included twice.
            for header in HEADERS:
                name = f"motley/{header.name}"
                source = pathlib.Path(folder) / f"use.{language}"
                source.write_text(f"#include <{name}>\n#include <{name}>\nint motley_use(void);\n"
                                  "int motley_use(void) { return MOTLEY_OK; }\n")
                run(compiler, *flags, "-pedantic-errors", "-Wall", "-Wextra", "-Werror",
                    f"-I{SOURCE}/include", "-fsyntax-only", source)
            self.use_macros(compiler, language, folder, flags)

    def use_macros(self, compiler, language, folder, flags):
        source = pathlib.Path(folder) / f"macros.{language}"
        macros = {"motley_job_options": "JOB_OPTIONS", "motley_trainer": "TRAINER",
                  "motley_metrics": "METRICS", "motley_evaluation": "EVALUATION",
                  "motley_loop": "LOOP", "motley_step": "STEP"}
        lines = [f"  {kind} a_{i} = MOTLEY_{name}_INIT; size += a_{i}.struct_size;"
                 for i, (kind, name) in enumerate(macros.items())]
        source.write_text("#include <motley/motley.h>\nunsigned motley_sizes(void);\n"
                          "unsigned motley_sizes(void) {\n  unsigned size = 0;\n" +
                          "\n".join(lines) + "\n  return size;\n}\n")
        run(compiler, *flags, "-pedantic-errors", "-Wall", "-Wextra", "-Werror",
            f"-I{SOURCE}/include", "-fsyntax-only", source)

    def compile_languages(self, c, cxx):
        self.compile_all(c, "c", "-std=c99")
        self.compile_all(c, "c", "-std=c11")
        self.compile_all(cxx, "cc", "-std=c++20")

    def test_the_builds_own_compilers(self):
        self.compile_languages(os.environ["CC"], os.environ["CXX"])

    def test_gcc(self):
        if not shutil.which("gcc") or not shutil.which("g++"):
            self.skipTest("gcc is not installed here")
        self.compile_languages("gcc", "g++")

    def test_clang(self):
        if not shutil.which("clang") or not shutil.which("clang++"):
            self.skipTest("clang is not installed here")
        self.compile_languages("clang", "clang++")


@unittest.skipIf(SANITIZED, "a program outside is not built with this build's sanitizer")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        # Keeps the manifest of a user's own installation from this build, so that it can still be
        # removed.
        cls.manifest = BUILD / "install_manifest.txt"
        cls.users = cls.manifest.read_bytes() if cls.manifest.exists() else None
        first = pathlib.Path(cls.folder.name) / "first"
        run("cmake", "--install", BUILD, "--prefix", first)
        cls.prefix = pathlib.Path(cls.folder.name) / "moved"  # An installed tree may be moved.
        first.rename(cls.prefix)
        cls.libdir = cls.prefix / os.environ["MOTLEY_LIBDIR"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
        if cls.users is not None:
            cls.manifest.write_bytes(cls.users)
        else:
            cls.manifest.unlink(missing_ok=True)

    def check_consumer(self, program, **options):
        said = run(program, **options)
        self.assertRegex(said, r"motley \d+\.\d+\.\d+: 20 steps, mean 2\.0")

    def test_cmake_finds_it_for_c_and_cxx(self):
        build = pathlib.Path(self.folder.name) / "cmake"
        run("cmake", "-S", SOURCE / "tests/package/consumer", "-B", build,
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_C_COMPILER={os.environ['CC']}",
            f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}")
        run("cmake", "--build", build)
        for program in ("consumer_c", "consumer_cxx"):
            self.check_consumer(build / program)

    def test_another_minor_version_is_not_this_one(self):
        build = pathlib.Path(self.folder.name) / "wrong"
        run("cmake", "-S", SOURCE / "tests/package/consumer", "-B", build, "-DWANTED=99.0",
            f"-DCMAKE_PREFIX_PATH={self.prefix}", fails=True)

    def test_pkg_config_finds_it(self):
        if not shutil.which("pkg-config"):
            self.skipTest("pkg-config is not installed here")
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.libdir / "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "motley", env=environment).split()
        program = pathlib.Path(self.folder.name) / "by_pkg_config"
        run(os.environ["CC"], "-std=c11", SOURCE / "tests/package/consumer/consumer.c", "-o", program,
            *flags)
        self.check_consumer(program, env=dict(os.environ, LD_LIBRARY_PATH=str(self.libdir)))

    def test_the_installed_program_runs(self):
        program = self.prefix / "bin" / "motley"
        self.assertIn("motley 0.", run(program, "--version"))
        said = run(program, "train", "--data", SOURCE / "examples/data/digits.csv.gz", "--steps", "5",
                   "--workers", "2", "--json")
        self.assertIn('"steps"', said)

    def test_nothing_but_the_package_is_installed(self):
        tops = {path.relative_to(self.prefix).parts[0] for path in self.prefix.rglob("*")
                if path.is_file()}
        # systemd's folder is below lib even if libraries are in lib64.
        self.assertEqual(tops, {"bin", "include", "share", "lib",
                                pathlib.Path(os.environ["MOTLEY_LIBDIR"]).parts[0]})

    def test_what_the_documentation_names_is_installed(self):
        share = self.prefix / "share"
        self.assertIn("Apache License", (share / "doc/motley/LICENSE").read_text())
        self.assertIn(".TH MOTLEY 1", (share / "man/man1/motley.1").read_text())
        self.assertIn("complete -F", (share / "bash-completion/completions/motley").read_text())
        self.assertIn("#compdef motley", (share / "zsh/site-functions/_motley").read_text())
        self.assertIn("motley run", (share / "motley/slurm/motley.sbatch").read_text())
        self.assertIn("complete -c motley", (share / "fish/vendor_completions.d/motley.fish").read_text())
        profiles = sorted(path.name for path in (SOURCE / "profiles").glob("*.toml"))
        self.assertEqual(sorted(path.name for path in (share / "motley/profiles").iterdir()), profiles)
        said = run(self.prefix / "bin" / "motley", "plan", "--cluster",
                   share / "motley/profiles/lab-mixed.toml", "--steps", "10")
        self.assertIn("ms", said)

    def test_the_packages_that_it_takes_to_run_are_those_of_the_documentation(self):
        if not shutil.which("dpkg") or not shutil.which("readelf"):
            self.skipTest("this is no Debian, or readelf is not installed")
        page = (SOURCE / "docs/reference/dependencies.md").read_text()
        part = page.split("## On a machine that only runs it\n")[1].split("\n## ")[0]
        named = re.search(r"apt install (.*)", part)[1].split()
        files = [self.prefix / "bin/motley", self.libdir / "libmotley.so", *(self.libdir / "motley").glob("*cpu*.so")]
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", "".join(run("readelf", "-d", file) for file in files)))
        # Every Debian has these.
        needed = {name for name in needed if not re.match(r"lib(c|m|gcc_s|stdc\+\+)\.so|ld-linux", name)}
        used = set()
        for name in needed:  # The same name may belong to packages of other architectures, too.
            owners = {line.split(":")[0] for line in run("dpkg", "-S", f"*/{name}").splitlines()}
            self.assertTrue(owners & set(named), f"{name} is of {owners}")
            used |= owners & set(named)
        self.assertEqual(used, set(named))

    def uninstall(self, manifest, **options):
        return run("cmake", f"-DMANIFEST={manifest}", "-P", SOURCE / "cmake/uninstall.cmake", **options)

    def test_uninstall_leaves_nothing_of_its_own_and_all_of_others(self):
        prefix = pathlib.Path(self.folder.name) / "for_a_while"
        run("cmake", "--install", BUILD, "--prefix", prefix)
        installed = [path for path in prefix.rglob("*") if not path.is_dir() or path.is_symlink()]
        manifest = pathlib.Path(self.folder.name) / "manifest.txt"
        shutil.copy(BUILD / "install_manifest.txt", manifest)
        other = prefix / "share/motley/profiles/mine.toml"
        other.write_text("name = 'mine'")
        (prefix / "bin" / "other").write_text("")
        said = self.uninstall(manifest)
        self.assertEqual(said.count("Removed: "), len(installed))
        left = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
        self.assertEqual(left, {"bin/other", "share/motley/profiles/mine.toml"})
        self.assertFalse((prefix / "include/motley").exists())
        self.assertIn("were gone already", self.uninstall(manifest))

    def test_uninstall_leaves_what_others_keep_in_a_folder_of_that_name(self):
        prefix = pathlib.Path(self.folder.name) / "[lab]" / "motley"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin" / "motley").write_text("")
        (prefix / "runs").mkdir()
        (prefix / "runs" / "model").write_text("weeks of training")
        manifest = pathlib.Path(self.folder.name) / "brackets.txt"
        manifest.write_text(f"{prefix}/bin/motley\n")
        self.uninstall(manifest)
        self.assertTrue((prefix / "runs" / "model").exists())
        self.assertFalse((prefix / "bin").exists())

    def test_uninstall_is_a_target_and_says_where_nothing_was_installed(self):
        self.assertIn("uninstall", run("cmake", "--build", BUILD, "--target", "help"))
        self.uninstall("/nowhere/install_manifest.txt", fails=True)


class DevScript(unittest.TestCase):
    def refused(self, *arguments):
        done = subprocess.run(["bash", SOURCE / "dev", *arguments], text=True, capture_output=True,
                              timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
        return done.stderr

    def test_arguments_that_mean_nothing_are_refused(self):
        for command in ("build", "demo", "lint", "setup", "clean", "wheel"):
            self.assertIn(f"{command} takes no arguments, not 'x'", self.refused(command, "x"))
        for words in (["-j2"], ["-j", "2"]):
            self.assertIn("MOTLEY_JOBS=2 ./dev build", self.refused("build", *words))
        self.assertIn("MOTLEY_JOBS", self.refused("test", "-j2"))
        self.assertIn("number of seeds", self.refused("sim", "many"))
        self.assertIn("unknown command 'bnech'", self.refused("bnech"))

    def test_benchmarks_are_listed_without_a_build(self):
        nowhere = dict(os.environ, MOTLEY_BUILD_DIR="/nowhere/build", PATH="/usr/bin:/bin")
        listed = run("bash", SOURCE / "dev", "bench", "--list", env=nowhere)
        names = [line.split()[0] for line in listed.splitlines()]
        for name in ("cluster", "real", "tables", "sum", "ddp", "coding.encode"):
            self.assertIn(name, names)
        program = BUILD / "motley-bench"
        if not program.exists():
            self.skipTest("motley-bench is not built")
        # A build without OpenCL has one benchmark less.
        own = [line for line in run(program, "--list").splitlines()]
        self.assertEqual([line for line in own if line not in listed.splitlines()], [])
        self.assertLessEqual(len([name for name in names if "." in name]) - len(own), 1)


class Example(unittest.TestCase):
    def check(self, *arguments):
        said = run(os.environ["MOTLEY_EXAMPLE"], *arguments)
        self.assertRegex(said, r"300 steps, 4 workers")
        weights = re.findall(r"(\S+) \((\S+)\)$", said, flags=re.M)
        self.assertEqual(len(weights), 8, said)
        for found, true in weights:
            self.assertAlmostEqual(float(found), float(true), delta=0.01)

    def test_all_in_one(self):
        self.check()

    def test_with_worker_processes(self):
        self.check("processes")

    def test_with_workers_that_come_from_elsewhere(self):
        program = os.environ["MOTLEY_EXAMPLE"]
        token = dict(os.environ, MOTLEY_TOKEN="sixteen characters or more")
        with subprocess.Popen([program, "serve", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True,
                              env=token) as server:
            address = re.fullmatch(r"serving at (\S+)\n", server.stdout.readline())[1]
            workers = [subprocess.Popen([program, "join", address], env=token) for _ in range(2)]
            self.assertIn("300 steps, 2 workers", server.stdout.read())
            self.assertEqual([server.wait(), *(worker.wait() for worker in workers)], [0, 0, 0])

    def test_unknown_words_are_refused(self):
        for arguments in (["process"], ["serve"], ["processes", "2"]):
            done = subprocess.run([os.environ["MOTLEY_EXAMPLE"], *arguments], text=True, capture_output=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("usage: trainer", done.stderr)

    def test_a_worker_without_a_job_says_so(self):
        run(os.environ["MOTLEY_EXAMPLE"], "worker", fails=True)


class WeightsExample(unittest.TestCase):
    def check_weights(self, text):
        found = re.findall(r"(-?[0-9.]+) \((-?[0-9.]+)\)", text)
        self.assertEqual(len(found), 8, text)
        for value, wanted in found:
            self.assertAlmostEqual(float(value), float(wanted), delta=1e-3)


class RowsExample(WeightsExample):
    """examples/rows.cc finds the weights that it made up."""

    def test_in_one_process(self):
        self.check_weights(run(os.environ["MOTLEY_ROWS_EXAMPLE"]))


class LoopExample(WeightsExample):
    """examples/loop.c finds the weights that it made up."""

    def test_in_one_process(self):
        self.check_weights(run(os.environ["MOTLEY_LOOP_EXAMPLE"]))

    def test_with_workers_that_come_from_elsewhere(self):
        program = os.environ["MOTLEY_LOOP_EXAMPLE"]
        token = dict(os.environ, MOTLEY_TOKEN="sixteen characters or more")
        with subprocess.Popen([program, "serve", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True,
                              env=token) as server:
            address = re.fullmatch(r"serving at (\S+)\n", server.stdout.readline())[1]
            workers = [subprocess.Popen([program, "join", address], env=token) for _ in range(2)]
            self.check_weights(server.stdout.read())
            self.assertEqual([server.wait(), *(worker.wait() for worker in workers)], [0, 0, 0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
