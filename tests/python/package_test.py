# SPDX-License-Identifier: Apache-2.0
"""The package beside the C API: nothing is missing, nothing is old, and everything is explained."""

import ast
import enum
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import motley
import motley.environment
from motley._library import candidates, ffi, lib

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Where the package calls each function of the C API.
COUNTERPARTS = {
    "motley_abi_version": motley.abi_version,
    "motley_batch_samples": motley.batch_samples,
    "motley_checkpoint_export": motley.checkpoint.export,
    "motley_checkpoint_list": motley.checkpoint.list_checkpoints,
    "motley_checkpoint_restore": motley.checkpoint.restore,
    "motley_checkpoint_verify": motley.checkpoint.verify,
    "motley_evaluate": motley.evaluate,
    "motley_job_allow_steps": motley.Job.allow_steps,
    "motley_job_copy_parameters": motley.Job.copy_parameters,
    "motley_job_create": motley.Job,
    "motley_job_descriptor": motley.Job.descriptor,
    "motley_job_destroy": motley.Job.close,
    "motley_job_finish": motley.Job.finish,
    "motley_job_metrics": motley.Job.metrics,
    "motley_job_parameters": motley.Job.parameters,
    "motley_job_report": motley.Job.report,
    "motley_job_failure": motley.Job.failure,
    # Job.run calls motley_job_start and motley_job_wait, which leave Python free to handle signals.
    "motley_job_run": None,
    "motley_job_save": motley.Job.save,
    "motley_job_set_events": motley.Job.set_events,
    "motley_job_set_group_rates": motley.Job.set_group_rates,
    "motley_job_set_groups": motley.Job.set_groups,
    "motley_job_set_loop": motley.Job.set_loop,
    "motley_job_set_rate": motley.Job.set_rate,
    "motley_job_set_trainer": motley.Job.set_trainer,
    "motley_job_start": motley.Job.start,
    "motley_job_stop": motley.Job.stop,
    "motley_job_wait": motley.Job.wait,
    "motley_job_worker": motley.Job.worker,
    "motley_last_error": motley.last_error,
    "motley_last_evaluation": motley.Evaluation,
    "motley_predict": motley.predict,
    "motley_status_name": motley.status_name,
    "motley_step_begin": motley.Job.begin,
    "motley_step_end": motley.Step.end,
    "motley_step_partial": motley.Step.partial,
    "motley_step_ready": motley.Step.ready,
    "motley_string_destroy": motley.checkpoint.verify,
    "motley_version": motley.version,
    "motley_weighted_cancelled": motley.Trainer,
    "motley_weighted_progress": motley.Trainer,
    # A trainer's gradient function returns all of its gradient at once.
    "motley_weighted_ready": None,
    # For trainers that add one vector; the package adds all vectors of a row at once.
    "motley_work_cancelled": None,
    "motley_work_progress": None,
    "motley_work_ready": None,
}


def headers():
    return "".join(path.read_text() for path in (ROOT / "include/motley").glob("*.h"))


def public_names():
    """Everything that users may call: the package's names, and the methods of its classes."""
    for name in motley.__all__:
        found = getattr(motley, name)
        if name != "Data":  # The name of a type.
            yield name, found
        if inspect.isclass(found) and not issubclass(found, (enum.Enum, Exception, dict)):
            for method, function in vars(found).items():
                if not method.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
                    yield f"{name}.{method}", function


def test_every_c_function_has_a_counterpart():
    declared = set(re.findall(r"MOTLEY_API [^;(]*?(motley_\w+)\(", headers()))
    assert declared == set(COUNTERPARTS)
    code = "".join(path.read_text() for path in (ROOT / "python/motley").glob("*.py") if path.name != "_cdef.py")
    used = {name for name in declared if COUNTERPARTS[name] is not None}
    assert [name for name in sorted(used) if f"lib.{name}" not in code] == []
    assert [name for name in sorted(declared) if not hasattr(lib, name)] == []


def test_the_declarations_are_those_of_the_headers():
    subprocess.run([sys.executable, ROOT / "python/tools/make_cdef.py", "--check"], check=True)


@pytest.mark.parametrize("kinds, prefix", [
    (motley.EventKind, "MOTLEY_EVENT_"), (motley.StepKind, "MOTLEY_STEP_"), (motley.WorkerState, "MOTLEY_WORKER_")])
def test_enumerations_are_those_of_the_headers(kinds, prefix):
    numbers = {name: int(value) for name, value in re.findall(prefix + r"(\w+) = (\d+)", headers())}
    numbers.pop("NONE", None)
    assert {kind.name: kind.value for kind in kinds} == numbers


def test_every_status_has_an_exception():
    errors = {error.status: error for error in motley.Error.__subclasses__()}
    statuses = dict(re.findall(r"MOTLEY_(\w+) = (\d+)", headers().split("typedef int32_t motley_status;")[1]
                               .split("};")[0]))
    assert sorted(errors) == sorted(int(number) for number in statuses.values() if number != "0")
    for status in errors:
        assert motley.status_name(status) not in ("", "unknown")
    assert motley.status_name(99) == "unknown"


def test_members_of_structs_are_read():
    for struct, made in (("motley_metrics", motley.Metrics), ("motley_worker_metrics", motley.WorkerMetrics),
                         ("motley_evaluation", motley.Evaluation)):
        members = {name for name, _ in ffi.typeof(struct).fields} - {"struct_size"}
        assert members == set(made.__dataclass_fields__) - {"details"}
    options = {name for name, _ in ffi.typeof("motley_job_options").fields} - {"struct_size", "role", "given"}
    assert options == set(motley.JobOptions.__annotations__)


def test_everything_has_a_docstring():
    assert [name for name, found in public_names() if not inspect.getdoc(found)] == []


def test_everything_has_an_example_in_the_reference():
    page = (ROOT / "docs/reference/python.md").read_text()
    missing = [name for name, _ in public_names() if name.split(".")[-1] not in page]
    assert missing == []


def test_everything_is_called_in_a_test():
    tests = [path for path in (ROOT / "tests/python").rglob("*.py") if path.name != "package_test.py"]
    code = (ROOT / "docs/reference/python.md").read_text() + "".join(path.read_text() for path in tests)
    code += pathlib.Path(__file__).read_text().split("def test_versions_and_the_last_error")[1]
    assert [name for name, _ in public_names() if not re.search(rf"\b{name.split('.')[-1]}\b", code)] == []


def module_names(*files):
    """Functions and classes of modules that import other packages, and the methods of these classes: (name, call)."""
    for file in files:
        for found in ast.parse((ROOT / "python/motley" / file).read_text()).body:
            if not isinstance(found, (ast.FunctionDef, ast.ClassDef)):
                continue
            public = not found.name.startswith("_")
            if public:
                yield found.name, rf"\b{found.name}\b"
            # Methods of the estimators are in bases that are not public.
            if isinstance(found, ast.ClassDef) and (public or file == "sklearn.py"):
                for method in found.body:
                    if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                        yield f"{found.name}.{method.name}", rf"\.{method.name}\b"


@pytest.mark.parametrize("module, files, tests", [
    ("motley.torch", ["torch/__init__.py", "torch/loader.py", "torch/errors.py"], "torch/*.py"),
    ("motley.sklearn", ["sklearn.py"], "sklearn*.py"),
    ("motley.ray", ["ray.py"], "ray_cases.py")])
def test_every_function_of_a_module_has_an_example_and_a_test(module, files, tests):
    names = dict(module_names(*files))
    if module == "motley.torch":
        del names["Settings"]  # What loader() was called with.
    page = (ROOT / "docs/reference/python.md").read_text()
    examples = "\n".join(line for line in page.splitlines() if line.startswith("    "))
    code = "".join(path.read_text() for path in (ROOT / "tests/python").glob(tests))
    assert names and module.split(".")[1] in examples
    assert [name for name, call in names.items() if not re.search(call, examples)] == []
    assert [name for name, call in names.items() if not re.search(call, code)] == []


def test_versions_and_the_last_error():
    assert re.fullmatch(r"\d+\.\d+\.\d+", motley.version()) and motley.__version__ == motley.version()
    assert motley.abi_version() == 1
    with pytest.raises(motley.InvalidArgument) as failed:
        motley.Job(code="fancy")
    assert motley.last_error() == str(failed.value) and failed.value.status == 2
    assert isinstance(failed.value, ValueError)


def import_with(library):
    return subprocess.run([sys.executable, "-c", "import motley"], text=True, capture_output=True,
                          env=dict(os.environ, MOTLEY_LIBRARY=str(library)), check=False)


def test_a_library_that_is_not_there_is_named(tmp_path):
    done = import_with(tmp_path / "nowhere.so")
    assert done.returncode == 1 and "ImportError: motley: libmotley.so.1 was not found" in done.stderr
    assert str(tmp_path / "nowhere.so") in done.stderr


def test_the_library_stays_mapped_while_its_threads_run():
    code = ("from motley._library import ffi, lib; ffi.dlclose(lib); "
            "print('libmotley' in open('/proc/self/maps').read())")
    assert subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True).stdout == "True\n"


def test_the_library_is_looked_for_in_this_order(monkeypatch):
    monkeypatch.setenv("MOTLEY_LIBRARY", "/chosen.so")
    assert candidates() == ["/chosen.so"]
    monkeypatch.delenv("MOTLEY_LIBRARY")
    assert candidates()[-1] == "libmotley.so.1"


def test_the_environment_of_a_started_process():
    read = motley.environment.read_environment
    assert read({}).role is None
    server = read({"MOTLEY_ROLE": "server", "MOTLEY_LISTEN": "127.0.0.1:0", "MOTLEY_TOKEN": "t", "MOTLEY_WORKERS": "3"})
    assert server.role == "server" and server.options == {"listen": "127.0.0.1:0", "token": "t", "workers": 3}
    assert read({"MOTLEY_ROLE": "worker", "MOTLEY_SERVER": "host:1"}).options == {}
    for wrong in ({"MOTLEY_ROLE": "boss"}, {"MOTLEY_ROLE": "worker"}, {"MOTLEY_ROLE": "server", "MOTLEY_WORKERS": "x"}):
        with pytest.raises(motley.InvalidArgument):
            read(wrong)


def test_the_program_of_the_package_runs():
    if not (ROOT / "build/release/motley").exists():
        pytest.skip("the program is not built in build/release")
    done = subprocess.run([sys.executable, "-m", "motley", "--version"], text=True, capture_output=True, check=True)
    assert done.stdout.startswith("motley ")


def test_types_are_strict():
    how = "in a virtual environment: pip install mypy numpy torch. The slow test newest does that"
    mypy = pytest.importorskip("mypy.version", reason=f"mypy is not installed; {how}").__version__
    if tuple(int(part) for part in mypy.split(".")[:2]) < (1, 7):
        pytest.skip(f"mypy {mypy} does not know Unpack, and 1.7 does; {how}")
    done = subprocess.run([sys.executable, "-m", "mypy", "motley"], cwd=ROOT / "python", text=True, capture_output=True,
                          check=False)
    assert done.returncode == 0, done.stdout
