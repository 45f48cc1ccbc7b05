#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The house style as a test: one-way includes, sizes, banned calls, registrations.

Usage: tidy.py [ROOT]. Prints one line per finding and exits 1 when there is any.
docs/explanation/design.md says why each rule is there.
"""

import pathlib
import re
import subprocess
import sys

import wording

# Which folders a folder may include, besides itself.
ORDER = {
    "base": set(),
    "profiles": {"base"},
    "coding": {"base"},
    "transport": {"base"},
    "devices": {"base"},
    "data": {"base", "devices"},
    "training": {"base", "profiles", "coding", "devices", "data"},
    "scheduler": {"base", "profiles", "coding"},
    "planner": {"base", "profiles", "coding", "scheduler"},
    "checkpoint": {"base"},
    "collective": {"base", "coding", "transport", "devices"},
    "runtime": {"base", "profiles", "coding", "transport", "devices", "data", "training", "scheduler", "planner",
                "checkpoint", "collective"},
    "reproduce": {"base", "profiles", "coding", "data", "scheduler", "planner"},
}
ORDER["sim"] = ORDER["runtime"] | {"runtime"}
ORDER["api"] = ORDER["runtime"] | {"runtime"}
ORDER["cli"] = ORDER["sim"] | {"sim", "api", "reproduce"}
ORDER["benchmarks"] = ORDER["cli"]
FOLDERS = list(ORDER)

# Commands that show what the C API can do: they see nothing else of the library.
OUTSIDE = r"cli/commands/(train|predict|worker)_command\.(h|cc)"

# Third-party headers, and the only files that may include them.
THIRD_PARTY = {
    r"Random123/": r"base/random\.cc",
    r"Eigen/": r"coding/(.*\.cc|decode/least_norm\.h)|devices/cpu/.*",
    r"hwy/": r"coding/.*\.(cc|h)",
    r"(tbb|oneapi)/": r"devices/cpu/.*\.cc",
    r"(CL/|clblast)": r"devices/opencl/.*|benchmarks/cases/opencl_bench\.cc",
    r"uv\.h": r"transport/(stream|channel)/.*|runtime/uv_loop\.cc|api/stop_switch\.h|"
                r"(api|cli/run|benchmarks)/.*\.cc",
    r"flatbuffers/": r"transport/wire/control\.(h|cc)",
    r"xxh.*\.h": r"transport/.*\.cc|checkpoint/shard_hash\.cc",
    r"zlib\.h": r"data/.*\.cc",
    r"zip\.h": r"data/formats/npz_format\.cc|tests/data/.*",
    r"nlohmann/": r"(data|training|api|cli|benchmarks)/.*\.cc|runtime/saving/saved_job_json\.cc",
    r"toml\+\+/|toml\.hpp": r"profiles/toml_table\.h",
    r"hwloc\.h": r"cli/machine/hardware\.cc",
    r"CLI/": r"cli/.*\.(cc|h)|benchmarks/.*\.cc",
    r"fmt/": r".*\.cc|cli/.*\.h",
    r"(cuda|cublas).*\.h": r"devices/cuda/.*",
    r"mpi\.h": r"collective/mpi/mpi_module\.c|benchmarks/peers/.*",
    r"dlfcn\.h": r"devices/.*\.cc|checkpoint/erasure/isal_kernel\.cc|collective/mpi/mpi_group\.cc|"
                 r"benchmarks/cases/openblas\.cc",
    r"jerasure": r"checkpoint/erasure/jerasure_.*\.cc|benchmarks/cases/erasure_.*\.cc",
}

# What would break determinism or the seams, and the only files that may use it.
BANNED = [
    (r"(steady|system|high_resolution)_clock|\bgettimeofday\b|\bclock_gettime\b|\btime\(",
     r"runtime/uv_loop\.cc|benchmarks/.*|api/workers/emulation\.cc|cli/.*|sim/sim_main\.cc|devices/cpu/cpu_device\.cc",
     "real clocks stay behind Loop"),
    (r"std::random_device|\brand\(|\bsrand\(|std::(mt19937|.*_distribution)",
     r"api/fresh_ids\.cc|cli/.*\.cc", "randomness comes from base/random.h"),
    (r"sleep_for|sleep_until|\busleep\(|\bsleep\(|nanosleep", r"", "nothing sleeps: use Loop::After"),
    (r"std::(thread|jthread|mutex|condition_variable|async)\b",
     r"base/parallel\.cc|runtime/uv_loop\.cc|checkpoint/store/disk\.cc|devices/cpu/(.*\.cc|kernel_modules\.h)|"
     r"devices/(device_thread\.(h|cc)|drivers/(driver_modules|stuck_devices)\.cc)|"
     r"devices/opencl/(memory\.h|driver\.cc)|"
     r"api/workers/(emulation|worker_environment)\.cc|api/loop/(step_exchange|job_thread|job_control)\.(h|cc)|"
     r"api/reports/live_metrics\.(h|cc)|runtime/shard/newest_version\.h|cli/.*\.cc|benchmarks/.*",
     "threads live in drivers and loops"),
    (r"for \([^;:)]*:[^)]*unordered", r"", "iteration order of unordered containers is random"),
    (r"parallel_reduce\b", r"", "float sums need parallel_deterministic_reduce"),
    (r"\bstd::(cout|cerr)\b|[^n:\w]printf\(", r"cli/.*|sim/sim_main\.cc|benchmarks/.*|base/assert\.cc",
     "only the programs print"),
    (r"\bstrto[a-z]+\(|\bato[fil]+\(|std::sto[a-z]+\(", r"", "numbers are read with std::from_chars"),
    (r"\bgetenv\(",
     r"devices/(drivers/modules|opencl/pocl_folder|cuda/found_devices)\.cc|collective/mpi/mpi_group\.cc|"
     r"api/workers/worker_environment\.cc|cli/.*",
     "configuration comes in through options"),
    (r"\bthrow\b", r"base/thread_owned\.h", "errors are Status values"),
    (r"\bassert\(", r"", "use MOTLEY_ASSERT, which stays on"),
]

MAX_FILE, MAX_HEADER, MAX_FUNCTION, MAX_LINE = 500, 250, 70, 100
MAX_FOLDER = 30
# One page for each decision, by number: nobody looks for them among others.
LARGE_FOLDERS = r"docs/decisions|tests/fuzz/corpus/.*"
CLASS_LIMITS = {"methods": 30, "data members": 12, "virtual functions": 10}
# What is larger today. The figures only go down.
LARGE_CLASSES = {
    ("api/job/server_run.h", "ServerRun", "data members"): 15,
    ("api/job/training_run.h", "TrainingRun", "data members"): 21,
    ("checkpoint/stripe_reader.h", "StripeReader", "data members"): 13,
    ("cli/terminal/progress.h", "Progress", "data members"): 18,
    ("data/tables/table_reading.h", "TableReading", "data members"): 13,
    ("devices/device.h", "Device", "virtual functions"): 14,
    ("devices/opencl/queue.h", "Queue", "data members"): 14,
    ("devices/watched_device.h", "WatchedDevice", "data members"): 14,
    ("planner/auto/auto_scheduler.h", "AutoScheduler", "data members"): 25,
    ("runtime/audit/auditor.h", "Auditor", "data members"): 29,
    ("runtime/saving/checkpointer.h", "Checkpointer", "data members"): 22,
    ("runtime/coordinator/server_model.h", "ServerModel", "data members"): 14,
    ("runtime/coordinator/validator.h", "Validator", "data members"): 21,
    ("runtime/audit/answer_log.h", "AnswerLog", "data members"): 15,
    ("runtime/shard/range_answers.h", "RangeAnswers", "data members"): 17,
    ("runtime/worker/server_link.h", "ServerLink", "data members"): 17,
    ("runtime/worker/worker_session.h", "WorkerSession", "data members"): 16,
    ("sim/checkers/gradient_checker.h", "GradientChecker", "data members"): 19,
    ("sim/reached_states.h", "ReachedStates", "data members"): 13,
    ("sim/world/sim_device.h", "SimDevice", "data members"): 21,
    ("sim/world/sim_network.h", "SimTransport", "data members"): 15,
    ("training/models/evaluate.h", "Evaluator", "data members"): 13,
    ("training/models/model_session.h", "ModelSession", "data members"): 21,
    ("training/trainers/shared_sum.h", "SharedSum", "data members"): 19,
    ("training/trainers/term_work.h", "TermWorker", "data members"): 14,
}
# The order of a room's subfolders: each may include those before it. Files directly in a room are not
# held to it.
SUBFOLDERS = {
    "base": ["loop"],
    "coding": ["kernels", "placement", "decode", "codes"],
    "transport": ["memory", "wire", "stream", "channel"],
    "devices": ["drivers", "cpu", "opencl", "cuda", "check"],
    "data": ["files", "tables", "formats"],
    "training": ["optimizers", "models", "model_files", "trainers"],
    "scheduler": ["sync", "step", "placement", "learned", "rows", "leases"],
    "planner": ["auto"],
    "checkpoint": ["store", "erasure"],
    "collective": ["algorithms", "mpi"],
    "runtime": ["links", "survey", "saving", "audit", "holders", "shard", "coordinator", "worker"],
    "sim": ["problems", "checkers", "world", "faults"],
    "api": ["request", "workers", "reports", "loop", "job"],
    "cli": ["terminal", "report", "machine", "run", "commands", "flags"],
    "benchmarks": ["peers", "cases", "planner"],
}
# Hand-written lists: every file of the pattern must be named (by its stem) in the list. A list may also
# spell the stem as the name of a constant, as in kKillFault for kill.
LISTS = [
    ("coding/codes", r"(.*)_code\.cc", "coding/schemes.cc"),
    ("collective/algorithms", r"(.*_steps)\.cc", "collective/algorithm.cc"),
    ("data/formats", r"(.*)_format\.cc", "data/readers.cc"),
    ("training/optimizers", r"(?!optimizer)(.*)_rule\.cc", "training/optimizers/optimizer_rule.cc"),
    ("sim/faults/kinds", r"(.*)_fault\.cc", "sim/faults/random_fault.cc"),
    ("cli/commands", r"(.*_command)\.cc", "cli/flags/command_list.cc"),
    ("transport/stream", r"(?!uv_)(.*)_stream\.cc", "transport/stream/schemes.cc"),
]
FUNCTION = re.compile(r"^(?!\s*(namespace|class|struct|union|enum|extern)\b)\S.*\)\s*(const|noexcept|override|final|"
                      r"->.*|:.*)*\s*\{$|^\s+(?!.*\b(if|for|while|switch|else|do|catch|namespace|class|"
                      r"struct|return)\b)[\w:<>,&*~\s]+\(.*\)\s*(const|override|noexcept|final)*\s*\{$")


def files(root):
    """Tracked and new files, so that nothing hides by being uncommitted."""
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, text=True,
                         capture_output=True)
    names = out.stdout.split("\n") if out.returncode == 0 else [
        str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    return sorted(n for n in names if (root / n).is_file())


def sources(names):
    return [n for n in names if re.search(r"\.(h|cc|c|cu|cuh|cl|inc|py|fbs|cmake|sh)$|CMakeLists.txt$", n)]


def check_includes(name, lines, report):
    folder = name.split("/")[0]
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^">]+)[">]', line)
        if not match:
            continue
        target = match.group(1)
        other = target.split("/")[0]
        if "/" in target and other in ORDER and folder in ORDER:
            if other != folder and other not in ORDER[folder]:
                report(name, number, f"{folder}/ may not include {other}/")
            if re.fullmatch(OUTSIDE, name) and other != "cli":
                report(name, number, f"this command may include <motley/...> and cli/, not {other}/")
        for pattern, allowed in THIRD_PARTY.items():
            if folder in ORDER and re.match(pattern, target) and not re.fullmatch(allowed, name):
                report(name, number, f"<{target}> belongs to {allowed} only")


def strip_comments(lines):
    return [re.sub(r'"(\\.|[^"\\])*"', '""', re.sub(r"//.*", "", line)) for line in lines]


def check_banned(name, lines, report):
    if name.split("/")[0] not in ORDER or not re.search(r"\.(h|cc|cu|cuh|inc)$", name):
        return
    for number, line in enumerate(strip_comments(lines), 1):
        for pattern, allowed, why in BANNED:
            if re.search(pattern, line) and not (allowed and re.fullmatch(allowed, name)):
                report(name, number, f"banned here: {why}")


def function_lengths(lines):
    """Yields (first line, length) of function bodies, by indentation, as clang-format leaves them."""
    for start, line in enumerate(lines):
        # The last line of a constructor's initializers looks like a function of its own.
        initializer = line.lstrip().startswith(":") or (start > 0 and lines[start - 1].endswith(","))
        if not FUNCTION.match(line) or (initializer and line.startswith(" ")):
            continue
        indent = len(line) - len(line.lstrip())
        for end in range(start + 1, len(lines)):
            if lines[end].startswith(" " * indent + "}"):
                yield start + 1, end - start + 1
                break


def check_sizes(name, lines, report):
    if not re.search(r"\.(h|cc|c|cu|cuh|inc|py)$", name):
        return
    header = name.endswith((".h", ".cuh")) and not name.startswith("tests/")
    limit = MAX_HEADER if header else MAX_FILE
    if len(lines) > limit:
        report(name, len(lines), f"{len(lines)} lines; the limit is {limit}")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE + (20 if name.endswith(".py") else 0):
            report(name, number, f"{len(line)} columns; the limit is {MAX_LINE}")
    if name.endswith(".py"):
        return
    for start, length in function_lengths(lines):
        if length > MAX_FUNCTION:
            report(name, start, f"function of {length} lines; the limit is {MAX_FUNCTION}")


def check_marks(name, lines, report):
    if name.startswith("tests/tidy/"):
        return
    if re.search(r"\.(h|cc|c|cu|cuh|inc)$", name) and (
            not lines or "SPDX-License-Identifier" not in lines[0]):
        report(name, 1, "the first line names the licence (SPDX)")
    if "util" in pathlib.Path(name).stem:
        report(name, 1, "no file is called utils: name what it does")
    for number, line in enumerate(lines, 1):
        if re.search(r"\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))", line):
            report(name, number, "a TODO needs an issue number: TODO(#12)")
        if re.search(r"\bDISABLED_", line):
            report(name, number, "tests that are off are not tests")
        if re.search(r"GTEST_SKIP\(\)\s*;", line):
            report(name, number, "a skip needs its reason")


def check_registered(root, names, report):
    cmake = {n: (root / n).read_text() for n in names if n.endswith("CMakeLists.txt")}
    for name in names:
        if not name.endswith((".cc", ".c", ".cu")) or name.split("/")[0] == "examples":
            continue
        parts = pathlib.PurePath(name).parts
        listed = any(re.search(r"(?<![\w])" + re.escape("/".join(parts[depth:])) + r"(?!\w)",
                               cmake.get("/".join(parts[:depth] + ("CMakeLists.txt",)), ""))
                     for depth in range(len(parts)))
        # A conformance suite's sources are compiled into the test programs that run it.
        listed = listed or any("/".join(parts[-2:]) in text for text in cmake.values())
        if not listed:
            report(name, 1, "not in any CMakeLists.txt")
    for folder, pattern, listing in LISTS:
        if not (root / folder).is_dir() or not any(n.startswith(folder + "/") for n in names):
            continue
        text = (root / listing).read_text() if (root / listing).is_file() else ""
        for name in names:
            match = re.fullmatch(folder + "/" + pattern, name)
            if match and match.group(1) not in text and f"k{match.group(1).title().replace('_', '')}" not in text:
                report(name, 1, f"not registered in {listing}")


def statements(lines, start, indent):
    """Joins the lines of a class body into its own declarations; bodies of functions are left out."""
    pad, text = " " * indent, ""
    for line in lines[start:]:
        if line.startswith(pad + "}"):
            return
        own = line.startswith(pad + "  ") and not line.startswith(pad + "   ")
        if not line.strip() or re.match(r"\s*(public|private|protected):$", line):
            continue
        if text == "" and not own:
            continue
        text += " " + line.strip()
        if text.endswith((";", "{", "}", "};")):
            yield text.strip()
            text = ""


def class_counts(lines):
    """Yields (line, name, methods, members, virtuals) of each class or struct, as clang-format leaves them."""
    code = strip_comments(lines)
    for start, line in enumerate(code):
        match = re.match(r"(\s*)(class|struct) (\w+)( final)?( : .*)?\s*\{$", line)
        if not match:
            continue
        methods = members = virtuals = 0
        for text in statements(code, start + 1, len(match.group(1))):
            if re.match(r"(using|friend|static_assert|enum|struct|class|template <|static constexpr|[})])", text):
                continue
            if re.search(r"= (default|delete);$", text):
                continue
            if re.search(r"\boperator\b|^[^={]*[\w~]+\(", re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", text))):
                methods += 1
                virtuals += text.startswith("virtual ")
            elif match.group(2) == "class":
                members += 1
        yield start + 1, match.group(3), methods, members, virtuals


def check_classes(name, lines, report):
    if not re.search(r"\.h$", name) or name.split("/")[0] not in ORDER:
        return
    for line, cls, *counts in class_counts(lines):
        for what, count, limit in zip(CLASS_LIMITS, counts, CLASS_LIMITS.values()):
            allowed = LARGE_CLASSES.get((name, cls, what), limit)
            if count > allowed:
                report(name, line, f"{cls} has {count} {what}; the limit is {allowed}")
            elif allowed > limit and count < allowed:
                report(name, line, f"{cls} has only {count} {what} now: say so in LARGE_CLASSES")


def check_folders(names, report):
    folders = {}
    for name in names:
        folders.setdefault(str(pathlib.PurePath(name).parent), []).append(name)
    for folder, files in sorted(folders.items()):
        if len(files) > MAX_FOLDER and not re.fullmatch(LARGE_FOLDERS, folder):
            report(folder, 0, f"{len(files)} files; the limit is {MAX_FOLDER}")


def check_subfolders(name, lines, report):
    """Within a room, a subfolder includes only those before it in SUBFOLDERS and the room's own files."""
    room, *rest = name.split("/")
    if room not in SUBFOLDERS or len(rest) < 2:
        return
    order = SUBFOLDERS[room]
    if rest[0] not in order:
        report(name, 1, f"{room}/{rest[0]}/ has no place in SUBFOLDERS")
        return
    for number, line in enumerate(lines, 1):
        match = re.match(rf'\s*#\s*include "{room}/(\w+)/', line)
        if match and match.group(1) in order and order.index(match.group(1)) > order.index(rest[0]):
            report(name, number, f"{room}/{rest[0]}/ may not include {room}/{match.group(1)}/")


LINK = r"\[[^\]]*\]\(([^)\s]+)\)"


def anchors(page):
    """The anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", text).lower()).replace(" ", "-") for text in headings}


def check_links(root, name, lines, report):
    """Relative links of a page lead to a file, and to a heading where they name one. Files under docs/ that a
    text or a comment names exist."""
    for number, line in enumerate(lines, 1):
        is_page = name.endswith(".md")
        for page in re.findall(r"(?<![\w/])docs/[\w/-]+\.\w+", re.sub(LINK, "", line) if is_page else line):
            if not (root / page).exists():
                report(name, number, f"{page} does not exist")
        if not is_page or line.startswith("    "):
            continue
        for target in re.findall(LINK, line):
            path, _, anchor = target.partition("#")
            page = (root / name).parent / path if path else root / name
            if re.match(r"\w+:", target):
                continue
            if not page.exists():
                report(name, number, f"the link {target} leads nowhere")
            elif anchor and anchor not in anchors(page):
                report(name, number, f"the link {target} names no heading of its page")


def check_table(root, name, lines, report):
    """The files and folders that a page's tables name exist. `a/b.h/.cc` are two; x is a new one."""
    tops = {path.name for path in root.iterdir() if path.is_dir()}
    for number, line in enumerate(lines, 1):
        for named in re.findall(r"`([\w/.-]+)`", line) if line.startswith("|") else []:
            parts = named.split("/")
            if parts[0] not in tops or len(parts) < 2 or any(re.match(r"x(_|$|\.)", part) for part in parts):
                continue
            both = re.fullmatch(r"(.*)(\.\w+)/(\.\w+)", named)
            for path in (both[1] + both[2], both[1] + both[3]) if both else (named,):
                if not (root / path).exists():
                    report(name, number, f"{path} does not exist")


def run(root):
    findings = []

    def report(name, line, what):
        findings.append(f"{name}:{line}: {what}")

    every = files(root)
    names = sources(every)
    for name in every:
        if name != "tests/tidy/tidy_test.py" and (name in names or re.search(r"\.(md|service)$|^dev$", name)):
            check_links(root, name, (root / name).read_text(errors="replace").split("\n"), report)
    if "CONTRIBUTING.md" in every:
        check_table(root, "CONTRIBUTING.md", (root / "CONTRIBUTING.md").read_text().split("\n"), report)
    for name in names:
        lines = (root / name).read_text(errors="replace").split("\n")
        if lines and lines[-1] == "":
            lines.pop()
        if re.search(r"\.(h|cc|c|cu|cuh|inc)$", name):
            check_includes(name, lines, report)
            check_subfolders(name, lines, report)
            check_classes(name, lines, report)
            check_banned(name, lines, report)
        check_sizes(name, lines, report)
        check_marks(name, lines, report)
    check_registered(root, names, report)
    check_folders(names, report)
    wording.check(root, names + [name for name in every if name.endswith(".md")], report)
    return findings


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    if len(sys.argv) <= 1:
        root = root.parents[2]
    findings = run(root)
    print("\n".join(findings) if findings else "tidy: nothing found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
