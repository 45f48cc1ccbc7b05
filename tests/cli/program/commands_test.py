#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that need no training: help, plans, simulations, and the streams they write to."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import textwrap
import unittest

from tools.program import PROGRAM, ProgramTest

PROFILES = pathlib.Path(__file__).parents[3] / "profiles"


class Commands(ProgramTest):
    def test_only_the_ratio_of_speeds_counts(self):
        self.run_program("train", "--data", self.data, "--steps", 2,
                         "--worker-speeds", "1000000,500000")

    def test_leading_zeros_mean_nothing(self):
        result = self.run_json("simulate", "--workers", "010", "--steps", "2", "--seed", "08")
        self.assertEqual(len(result["workers"]), 10)

    def test_exit_codes_are_told(self):
        self.assertIn("Exit codes: 0 all is well", self.run_program("--help").stdout)

    def test_help_explains_commands_and_topics(self):
        all_topics = self.run_program("help").stdout
        self.assertIn("simulate ", all_topics)
        for topic in re.findall(r"^  ([a-z-]+) ", all_topics.split("Topics")[1], re.MULTILINE):
            with self.subTest(topic):
                self.assertGreater(self.run_program("help", topic).stdout.count("\n"), 8)
        self.assertEqual(self.run_program("help", "plan").stdout,
                         self.run_program("plan", "--help").stdout)
        self.assertEqual(self.run_program("help", "checkpoint", "list").stdout,
                         self.run_program("checkpoint", "list", "--help").stdout)
        wrong = self.run_program("help", "code", expect=2)
        self.assertIn("no help on 'code'. Did you mean codes?", wrong.stderr)

    def test_every_model_is_explained(self):
        unknown = self.run_program("train", "--data", self.data, "--model", "none-such", expect=2).stderr
        names = re.findall(r"[a-z]+", unknown.split("It is one of: ")[1])
        self.assertIn("softmax", names)
        for text in (self.run_program("help", "models").stdout, self.run_program("train", "--help").stdout):
            for name in names:
                self.assertRegex(text, rf"\b{name}( +[A-Z(]|:[0-9]+)", name)

    def test_the_flags_that_most_people_want_come_first(self):
        text = self.run_program("train", "--help").stdout
        self.assertLess(text.index("--workers"), text.index("--split"))
        self.assertLess(text.index("--out FILE"), text.index("--storage"))

    def test_closed_standard_streams_are_no_reason_to_abort(self):
        command = f'exec "{PROGRAM}" train --data "{self.data}" --steps 2'
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                done = subprocess.run(["sh", "-c", f"{command} {closed}"], timeout=60,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_help_and_version_succeed(self):
        self.assertIn("motley 0.", self.run_program("--version").stdout)
        for command in ([], ["train"], ["simulate"], ["codes"], ["predict"]):
            text = self.run_program(*command, "--help").stdout
            self.assertIn("motley", text)
            self.assertNotIn("Started by motley train", text)
        self.assertIn("worker ", self.run_program("--help").stdout)
        self.assertIn("MOTLEY_TOKEN", self.run_program("worker", "--help").stdout)

    def test_every_flag_is_explained(self):
        names = re.findall(r"^  (\w+) {2,}\S", self.run_program("--help").stdout, re.MULTILINE)
        self.assertIn("worker", names)
        for command in [[], *([name] for name in names), ["checkpoint", "export"]]:
            lines = self.run_program(*command, "--help").stdout.splitlines()
            for line, below in zip(lines, lines[1:] + [""]):
                if not re.match(r"  -", line):
                    continue
                explained = re.search(r"\S {2,}\S", line) or re.match(r" {30}\S", below)
                self.assertTrue(explained, (command, line))

    def test_the_page_about_train_lists_exactly_its_flags_and_defaults(self):
        page = (pathlib.Path(__file__).parents[3] / "docs" / "reference" / "train.md").read_text()
        page = re.sub(r"`motley worker --server HOST:PORT` starts.*?\n\n.*?\n\n", "", page, flags=re.S)
        cells = {}  # By flag: the last cell of its rows.
        for row in re.findall(r"^\| (`--.*) \|$", page, flags=re.M):
            first, *_, default = re.split(r" (?<!\\)\| ", row)
            for flag in re.findall(r"`(--[a-z0-9-]+)", first):
                cells[flag] = cells.get(flag, "") + default
        text = self.run_program("train", "--help").stdout
        shown = re.findall(r"^  (?:-\w,)?(--[a-z][a-z0-9-]*)((?: .*)?(?:\n {30}.*)*)", text,
                           flags=re.M)
        # Two flags have sections of their own.
        documented = set(cells) | {"--model", "--fault", "--help"}
        self.assertEqual({flag for flag, _ in shown}, documented)
        for flag, about in shown:
            default = (re.match(r" (?:\[NAME:\])?[^ =[]+=(\S+)", about)
                       or re.search(r"[Dd]efault: ([\d.e-]+)\s*$", about))
            if default and flag in cells:
                self.assertIn(default[1], cells[flag], flag)

    def test_codes_are_shown(self):
        for code in ("none", "repetition", "cyclic", "heterogeneous", "group", "rs", "graph"):
            with self.subTest(code):
                text = self.run_program("codes", "--workers", 4, "--code", code).stdout
                self.assertIn("4 workers", text)
                shown = json.loads(
                    self.run_program("codes", "--workers", 4, "--code", code, "--json").stdout)
                self.assertEqual(len(shown["rows"]), 4)
                self.assertLess(shown["worst_residual"], 1e-6)

    def test_codes_shows_the_messages_of_each_worker(self):
        command = ["codes", "--workers", 4, "--code", "multi-message", "--partitions", 24]
        text = self.run_program(*command).stdout
        self.assertIn("Messages, in order", text)
        self.assertIn("4 workers, 24 partitions, any 1 may be missing", text)
        shown = json.loads(self.run_program(*command, "--json").stdout)
        self.assertEqual(shown["workers"], 4)
        self.assertEqual(shown["loads"], [12] * 4)
        self.assertEqual([len(messages) for messages in shown["lists"]], [6] * 4)
        self.assertEqual(shown["worst_amplification"], 1)

    def test_codes_shows_the_coefficients_of_every_part(self):
        command = ["codes", "--workers", 5, "--code", "short", "--parts", 3, "--partitions", 20]
        text = self.run_program(*command).stdout
        self.assertIn("answers are 1/3 as long as a gradient", text)
        self.assertIn("B of part 3 of 3, by partition", text)
        shown = json.loads(self.run_program(*command, "--json").stdout)
        self.assertEqual(shown["parts"], 3)
        self.assertEqual(shown["loads"], [16] * 5)
        self.assertEqual({len(entry) for row in shown["rows"] for entry in row}, {7})
        done = self.run_program("codes", "--workers", 5, "--code", "rs", "--parts", 3, expect=2)
        self.assertIn("--code short", done.stderr)

    def test_heterogeneous_loads_follow_the_speeds(self):
        shown = json.loads(self.run_program(
            "codes", "--speeds", "2,2,4,4,8,8,8,12", "--code", "heterogeneous", "--tolerate", 1,
            "--json").stdout)
        self.assertEqual(shown["loads"], [round(load) for load in shown["ideal_loads"]])

    def test_codes_says_why_it_cannot_serve(self):
        done = self.run_program("codes", "--workers", 4, "--partitions", 3, expect=2)
        self.assertIn("3 partitions", done.stderr)
        done = self.run_program("codes", "--workers", 4, "--tolerate", 4, expect=2)
        self.assertIn("at most 3", done.stderr)

    def test_simulation_is_the_same_every_time(self):
        arguments = ["simulate", "--worker-speeds", "1,1,0.5", "--code", "heterogeneous", "--steps",
                     20, "--fault", "kill:2@step=5", "--seeds", 2]
        first = self.run_json(*arguments)
        self.assertEqual(first, self.run_json(*arguments))
        self.assertEqual(set(first["step_seconds"]), {"mean", "p99"})
        for key in ("scheme", "seeds", "ideal_seconds", "discarded_steps", "workers"):
            self.assertIn(key, first)
        self.assertEqual(first["discarded_steps"], 0)
        self.assertEqual([w["lost"] for w in first["workers"]], [False, False, True])

    def test_simulated_time_is_near_the_ideal_without_faults(self):
        result = self.run_json("simulate", "--worker-speeds", "1,1,0.5,0.25", "--steps", 40)
        self.assertLess(result["step_seconds"]["mean"], 1.2 * result["ideal_seconds"])

    def test_simulates_batches_of_any_size(self):
        """Every step has the whole batch, and its samples cost no memory. Without redundancy the workers
        compute the data set once per epoch."""
        for batch in (1, 3, 1000, 4096, 4097, 100_003, 10_000_000):
            with self.subTest(batch):
                result = self.run_json("simulate", "--worker-speeds", "1,1,0.5", "--code", "none",
                                       "--sample-time", "1us", "--steps", 12, "--batch", batch)
                self.assertEqual(result["steps"], 12)
                samples = -(-4096 // batch) * batch
                computed = sum(worker["samples"] for worker in result["workers"])
                self.assertAlmostEqual(computed / samples, 1, places=9)
                self.assertAlmostEqual(result["ideal_seconds"], batch * 1e-6 / 2.5)
                if batch >= 4096:
                    self.assertGreaterEqual(result["step_seconds"]["mean"],
                                            0.99 * result["ideal_seconds"])
                    self.assertLess(result["step_seconds"]["mean"], 1.5 * result["ideal_seconds"])

    def test_large_batches_are_simulated_under_every_code(self):
        path = self.folder / "wide.toml"
        path.write_text("gradient_bytes = 1000000\n[[worker]]\nsamples_per_second = 1e6\n"
                        "count = 6\nlink = { latency = \"1ms\", bandwidth = \"1Gbit/s\" }\n")
        for code in ("repetition", "heterogeneous", "multi-message", "adaptive", "auto"):
            with self.subTest(code):
                result = self.run_json("simulate", "--cluster", path, "--code", code, "--steps", 8,
                                       "--batch", 1_000_001, "--fault", "kill:1@step=3")
                self.assertEqual(result["steps"], 8)
                self.assertEqual(result["discarded_steps"], 0)
                self.assertGreater(result["step_seconds"]["mean"], 1_000_001 / 6e6)

    def test_simulates_jobs_of_many_hours(self):
        path = self.folder / "slow.toml"
        path.write_text("gradient_bytes = 1000000\n[[worker]]\nsamples_per_second = 10\n"
                        "count = 2\nlink = { bandwidth = \"10kB/s\" }\n")
        result = self.run_json("simulate", "--cluster", path, "--steps", 60, "--code", "none")
        self.assertEqual(result["steps"], 60)
        self.assertGreater(result["step_seconds"]["mean"], 100)

    def test_plans_for_thousands_of_workers(self):
        path = self.folder / "many.toml"
        path.write_text("[[worker]]\nsamples_per_second = 1000\ncount = 10000\n")
        plan = self.run_json("plan", "--cluster", path, "--batch", 100000)
        self.assertGreaterEqual(plan["partitions"], 10000)
        done = self.run_program("simulate", "--cluster", path, expect=2)
        self.assertIn("between 1 and 1024", done.stderr)

    def test_many_workers_are_summarised_and_json_has_every_one(self):
        job = ["simulate", "--workers", 40, "--steps", 2, "--code", "none", "--batch", 400]
        table = self.run_program(*job, "--fault", "kill:30@step=1").stdout
        lines = [line for line in table.splitlines() if line.startswith("worker-")]
        self.assertLess(len(lines), 20)
        self.assertIn(f"and {40 - len(lines)} more: 40 workers of speed", table)
        self.assertTrue(any(line.startswith("worker-30") for line in lines), "a lost one is shown")
        self.assertEqual(len(self.run_json(*job)["workers"]), 40)
        self.assertNotIn("more", self.run_program("simulate", "--workers", 32, "--steps", 2).stdout)
        codes = ["codes", "--workers", 40, "--code", "repetition", "--tolerate", 1]
        shown = self.run_program(*codes).stdout
        self.assertIn("and 8 more", shown)
        self.assertEqual(len(json.loads(self.run_program(*codes, "--json").stdout)["loads"]), 40)

    def test_nobody_waits_for_links_that_are_too_thin_to_be_measured(self):
        """A vector takes some machines of this cluster 3 s, so their answers come too late each time."""
        result = self.run_json("simulate", "--cluster", PROFILES / "campus.toml", "--code", "group",
                               "--tolerate", 2, "--batch", 256, "--steps", 140, "--seeds", 1, "--seed", 107)
        self.assertLess(result["step_seconds"]["settled_mean"], 0.5)

    def test_simulates_a_described_cluster(self):
        path = self.folder / "cluster.toml"
        path.write_text('name = "two"\n')
        self.run_program("simulate", "--cluster", path, expect=1)
        self.run_program("simulate", "--cluster", self.folder / "none.toml", expect=3)

    def test_the_example_of_the_documentation_is_a_cluster(self):
        page = (PROFILES.parent / "docs/reference/cluster-file.md").read_text()
        example = page.split("## A worked example\n")[1].split("\n\nIn a step")[0]
        path = self.folder / "lab.toml"
        path.write_text(textwrap.dedent(example))
        result = self.run_json("simulate", "--cluster", path, "--steps", 5)
        self.assertEqual([worker["name"] for worker in result["workers"]],
                         ["desktop-0", "desktop-1", "desktop-2", "desktop-3", "gpu"])
        self.assertEqual(result["gradient_bytes"], 4000000)
        self.assertGreater(self.run_json("plan", "--cluster", path, "-q")["ideal_seconds"], 0)

    def test_links_carry_gradients_of_the_described_length(self):
        path = self.folder / "cluster.toml"
        seconds = []
        for size, server in ((1_000, "0"), (1_000_000, "0"), (1_000_000, '"16Mbit/s"'),
                             (1_000_000, None)):
            link = f"[server]\nlink = {{ bandwidth = {server} }}\n" if server else ""
            path.write_text(f'name = "two"\ngradient_bytes = {size}\n{link}'
                            '[[worker]]\nname = "node"\nsamples_per_second = 1000\ncount = 2\n'
                            'link = { latency = "1ms", bandwidth = "8Mbit/s" }\n')
            result = self.run_json("simulate", "--cluster", path, "--steps", 10)
            self.assertEqual(result["gradient_bytes"], size)
            seconds.append(result["step_seconds"]["mean"])
        # A megabyte to each worker, and one back. Each is one slice. On a shared link of twice the
        # width the second worker's slice comes half a second later, on a link of the same width a second.
        self.assertAlmostEqual(seconds[1] - seconds[0], 2, delta=0.3)
        self.assertAlmostEqual(seconds[2] - seconds[0], 2.5, delta=0.3)
        self.assertAlmostEqual(seconds[3] - seconds[0], 3, delta=0.4)

    def test_codes_are_compared_in_one_table_and_picture(self):
        cluster = PROFILES / "uniform-8.toml"
        compare = ["simulate", "--cluster", cluster, "--steps", 8, "-q"]
        picture = self.folder / "codes.svg"
        table = self.run_program(*compare, "--compare", "none,repetition,adaptive:2", "--plot",
                                 picture).stdout
        self.assertRegex(table, r"(?m)^none .* 1\.00 ")
        self.assertRegex(table, r"(?m)^adaptive, tolerates 2 ")
        self.assertIn("8 steps, 5 seeds", table)
        self.assertIn("repetition", picture.read_text())
        result = self.run_json(*compare, "--compare", "none,repetition", "--seeds", 2)
        self.assertEqual([code["code"] for code in result["codes"]], ["none", "repetition"])
        self.assertGreater(result["codes"][1]["ratio"], 1.2)
        self.assertIn("Did you mean 'adaptive'?",
                      self.run_program(*compare, "--compare", "none,adaptve", expect=2).stderr)
        self.assertIn("--plot x.svg", self.run_program(*compare, "--plot", "x.png", expect=2).stderr)
        both = self.run_program(*compare, "--compare", "none,rs", "--code", "rs", expect=2)
        self.assertIn("--code and --compare cannot both be given", both.stderr)

    def test_plan_and_compare_say_the_same(self):
        cluster = PROFILES / "uniform-8.toml"
        plan = self.run_json("plan", "--cluster", cluster, "--copies", 2)
        rows = {f"{row['code']}:{row['tolerate']}": row for row in plan["schemes"]
                if row.get("simulated") and row["workers"] == 0 and row.get("parts", 2) == 2}
        codes = ["none:0", "repetition:1", "adaptive:0", "adaptive:1", "short:0", "approximate:1"]
        compared = self.run_json("simulate", "--cluster", cluster, "--compare",
                                 ",".join(codes + ["auto"]))
        for name, code in zip(codes, compared["codes"]):
            with self.subTest(name):
                step = code["step_seconds"]
                self.assertAlmostEqual(rows[name]["step_seconds"] / step["mean"], 1, delta=1e-6)
                self.assertAlmostEqual(rows[name]["interval"]["high"], step["high"], delta=1e-9)
                self.assertEqual(code["exact"], name != "approximate:1")
        automatic = compared["codes"][-1]["step_seconds"]["mean"]
        self.assertAlmostEqual(plan["auto"]["step_seconds"] / automatic, 1, delta=1e-6)

    def test_the_recommended_command_gives_the_recommended_figure(self):
        (self.folder / "thin.toml").write_text(
            'name = "thin"\ngradient_bytes = 2000000\n[[worker]]\nname = "node"\nsamples_per_second = 1000\ncount = 3\n'
            'link = { bandwidth = "1Gbit/s" }\n')
        folders = {"thin": self.folder}
        for name, *vector in (("campus",), ("lab-mixed",), ("thin", "--reduce", "auto", "--optimizer", "momentum",
                                                            "--followers", 2, "--copies", 1)):
            with self.subTest(name):
                plan = ["plan", "--cluster", folders.get(name, PROFILES) / f"{name}.toml", *vector]
                recommended = self.run_json(*plan)["recommended"]
                text = self.run_program(*plan).stdout
                self.assertRegex(text, f"^{name}: {recommended['flags']}( --reduce star)? takes ")
                lines = text.replace("\\\n", "").splitlines()
                typed = [shlex.split(line) for line in lines if line.startswith("  motley ")]
                self.assertEqual(typed[0], shlex.split(recommended["train"]))
                self.assertEqual(typed[1], shlex.split(recommended["simulate"]))
                step = self.run_json(*typed[1][1:])["step_seconds"]
                self.assertAlmostEqual(step["settled_mean"] / recommended["step_seconds"], 1, delta=1e-6)

    def test_simulated_jobs_place_and_round_their_vector(self):
        cluster = ["--cluster", PROFILES / "uniform-8.toml", "--batch", 256, "--code", "none", "--steps", 20]
        usual = self.run_json("simulate", *cluster)
        self.assertEqual(usual["reduce"], {"by": "star"})
        for flags, by in ((["--reduce", "direct"], "direct"), (["--reduce", "auto"], "direct"),
                          (["--reduce", "sharded:2"], "sharded:2"), (["--wire", "int8"], "star"),
                          (["--reduce", "direct", "--followers", 2, "--wire", "bf16"], "direct")):
            with self.subTest(flags):
                seen = self.run_json("simulate", *cluster, *flags)
                self.assertEqual(seen["reduce"]["by"], by)
                if by != "star":
                    self.assertAlmostEqual(sum(part["part"] for part in seen["reduce"]["parts"]), 1)
                self.assertLess(seen["step_seconds"]["mean"], usual["step_seconds"]["mean"])
                self.assertGreater(seen["step_seconds"]["mean"], seen["ideal_seconds"])
                rounded = "--wire" in flags
                self.assertEqual(seen["ideal_seconds"] < usual["ideal_seconds"], rounded)
        for wrong in (["--reduce", "ring"], ["--reduce", "sharded:65"], ["--wire", "float99"], ["--followers", 1]):
            self.assertIn(wrong[0], self.run_program("simulate", *cluster, *wrong, expect=2).stderr)
        seen = self.run_json("simulate", "--worker-speeds", "1,1", "--steps", 3, "--reduce", "auto")
        self.assertRegex(seen["reduce"]["why"], "the server sums the vector of .*: for so short a vector")
        # A slow worker and a lost one.
        faults = ["--fault", "slow:1@step=5,4x", "--fault", "kill:2@step=10"]
        for reduce in ("direct", "auto", "sharded:2"):
            seen = self.run_json("simulate", *cluster, "--reduce", reduce, *faults)
            self.assertEqual((seen["steps"], seen["workers"][2]["lost"]), (20, True))

    def test_simulate_says_once_who_sums_the_vector(self):
        job = ["simulate", "--cluster", PROFILES / "uniform-8.toml", "--code", "none", "--steps", 5]
        placed = r"(?m)^{}the workers sum the vector of .* MB \(worker 0.*, and the server alone would need \d+ ms$"
        several = (*job, "--reduce", "auto", "--seeds", 2, "--seed", 11)
        for flags, where in (((*job, "--reduce", "auto"), ""), ((*job, "--reduce", "auto", "-q"), ""),
                             (several, "seed 11: ")):
            with self.subTest(flags):
                run = self.run_program(*flags)
                self.assertRegex(run.stdout, placed.format(where))
                self.assertEqual((run.stdout + run.stderr).count("the vector"), 1, run.stderr)
        self.assertEqual(self.run_json(*several)["reduce"]["seed"], 11)
        run = self.run_program(*job)
        self.assertNotIn("sum", run.stdout + run.stderr)
        alike = ["simulate", "--worker-speeds", "1,1", "--steps", 3]
        run = self.run_program(*alike, "--reduce", "direct")
        self.assertIn("\nthe workers sum the vector\n", run.stdout)
        self.assertNotIn("the vector", run.stderr)
        run = self.run_program(*alike, "--reduce", "auto")
        self.assertIn("\nthe server sums the vector of ", run.stdout)
        self.assertNotIn("the vector", run.stderr)
        compared = self.run_program(*alike, "--reduce", "auto", "--compare", "none,adaptive", "--seeds", 1)
        self.assertIn("the server sums the vector of ", compared.stderr)

    def test_compare_refuses_or_says_what_a_code_cannot(self):
        compare = ["simulate", "--cluster", PROFILES / "uniform-8.toml", "--steps", 8, "-q"]
        wrong = self.run_program(*compare, "--compare", "adaptive,none:1", expect=2)
        self.assertIn("none keeps no copies, so it tolerates no missing worker", wrong.stderr)
        wrong = self.run_program(*compare, "--compare", "none,repetition:8", expect=2)
        self.assertIn("at most 7 can be missing", wrong.stderr)
        table = self.run_program(*compare, "--compare", "none,approximate").stdout
        self.assertRegex(table, r"(?m)^approximate \(not exact\) ")
        self.assertRegex(table, r"(?m)^approximate: \d+ of 40 steps")

    def test_simulate_lists_only_flags_that_change_something(self):
        shown = self.run_program("simulate", "--help").stdout
        for flag in ("--lr", "--l2", "--momentum"):
            self.assertNotIn(flag + " ", shown)
        self.assertIn("--batch", shown)
        self.run_program("simulate", "--steps", 2, "--lr", 0.1, expect=2)
        # Followers need the sums of rules with a state.
        job = ["simulate", "--cluster", PROFILES / "uniform-8.toml", "--code", "none", "--steps", 20,
               "--reduce", "direct"]
        plain, adam = (self.run_json(*job, "--optimizer", rule)["step_seconds"]["mean"]
                       for rule in ("sgd", "adam"))
        self.assertLess(plain, adam)
        self.assertIn("foo", self.run_program(*job, "--optimizer", "foo", expect=2).stderr)

    def test_workers_keep_the_names_of_the_file(self):
        path = self.folder / "cluster.toml"
        path.write_text('gradient_bytes = 4000\n'
                        '[[worker]]\nname = "old"\nsamples_per_second = 1000\ncount = 2\n'
                        '[[worker]]\nname = "gpu"\nsamples_per_second = 9000\n')
        picture = self.folder / "step.svg"
        result = self.run_json("simulate", "--cluster", path, "--steps", 4, "--timeline", picture)
        self.assertEqual([worker["name"] for worker in result["workers"]], ["old-0", "old-1", "gpu"])
        for part in (">old-0</text>", ">gpu</text>", ">parameters arrive</text>", ">vector sent</text>"):
            self.assertIn(part, picture.read_text())

    def test_whoever_reads_a_result_may_stop(self):
        cluster = PROFILES / "uniform-8.toml"
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([PROGRAM, "plan", "--cluster", str(cluster), "--json", "-q"],
                              stdout=writing, stderr=subprocess.PIPE, text=True)
        os.close(writing)
        self.assertEqual((done.stderr, done.returncode), ("", 1))


if __name__ == "__main__":
    unittest.main()
