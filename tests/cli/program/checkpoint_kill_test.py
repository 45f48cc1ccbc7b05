#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a job by kill -9 at random moments. Each resume begins with an acknowledged checkpoint or a
newer one, and the job ends like an undisturbed one. `--kills N` sets the number of kills (15)."""

import json
import pathlib
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

from tools.program import PATIENCE_S, PROGRAM, ProgramTest

KILLS = 15
STEPS_PER_KILL = 400
MOST_STEPS = 20000  # The undisturbed run does them all.
SAFE = re.compile(r"checkpoint: (\d+) steps? (?:is|are) safe")
RESUMED = re.compile(r"resuming from the checkpoint of step (\d+) in")


class Kills(ProgramTest):
    def test_checkpoints_are_listed_verified_restored_and_exported(self):
        folder = self.folder / "whole"
        subprocess.run(self.checkpointed(10, folder, False), check=True, capture_output=True)
        listed = self.run_json("checkpoint", "list", folder)
        self.assertEqual(listed[0]["step"], 10)
        self.assertTrue(all(one["restorable"] for one in listed))
        self.run_program("checkpoint", "verify", folder)
        shutil.rmtree(folder / "node-04")
        report = json.loads(self.run_program("checkpoint", "verify", folder, "--json",
                                             expect=1).stdout)
        self.assertEqual([shard["state"] for shard in report["shards"]], ["fine"] * 4 + ["lost"])
        self.assertTrue(report["restorable"])
        self.run_program("checkpoint", "restore", folder)
        self.assertTrue(self.run_json("checkpoint", "verify", folder)["healthy"])
        model = self.folder / "exported.safetensors"
        said = self.run_program("checkpoint", "export", folder, "--out", model).stdout
        self.assertEqual(said, f"the model of step 10 of {folder} is in {model}\n")
        self.assertEqual(self.run_json("predict", "--model", model, "--data",
                                       self.data)["count"], 600)
        self.run_program("checkpoint", "verify", folder, "--step", 11, expect=3)
        self.run_program("checkpoint", "list", self.folder / "nowhere", expect=3)

    def job(self, steps, *more):
        return [PROGRAM, "train", "--data", str(self.data), "--model", "mlp:16", "--workers", "2",
                "--shares", "equal", "--optimizer", "adam", "--lr", "0.002", "--batch", "60",
                "--steps", str(steps), *map(str, more)]

    def checkpointed(self, steps, folder, resume):
        return self.job(steps, "--checkpoint", folder, "--checkpoint-every", 3,
                        "--checkpoint-code", "3+2", *(["--resume", folder] if resume else []))

    def run_until_killed(self, command, draw):
        """Returns the exit code, standard output and the messages. The moment of the kill is random."""
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(self.end_quietly, process)
        said = b""
        wanted = draw.choice([b"steps are safe", b"step ", b"samples"])
        rest = draw.uniform(0, 0.15)
        limit = time.monotonic() + PATIENCE_S
        die_at = None
        while time.monotonic() < limit:
            ready, _, _ = select.select([process.stderr], [], [], 0.005)
            chunk = process.stderr.read1(65536) if ready else None
            if chunk == b"":
                break
            said += chunk or b""
            if die_at is None and wanted in said:
                die_at = time.monotonic() + rest
            if die_at is not None and time.monotonic() >= die_at:
                process.kill()
                break
        output, tail = process.communicate(timeout=PATIENCE_S)
        return process.returncode, output, (said + tail).decode()

    def end_quietly(self, process):
        if process.poll() is None:
            process.kill()
            process.communicate()

    def damage(self, folder, draw):
        """Damages two of five shards: each is removed, or gets a flipped bit."""
        nodes = sorted(path for path in folder.iterdir() if path.is_dir())
        if len(nodes) < 5:
            return
        for node in draw.sample(nodes, 2):
            if draw.random() < 0.5:
                shutil.rmtree(node)
                continue
            for file in node.iterdir():
                content = bytearray(file.read_bytes())
                if content:
                    place = draw.randrange(len(content))
                    content[place] ^= 1 << draw.randrange(8)
                    file.write_bytes(bytes(content))

    def test_every_resume_goes_on_from_what_was_acknowledged(self):
        draw = random.Random(7)
        steps = min(STEPS_PER_KILL * KILLS, MOST_STEPS)
        calm = json.loads(subprocess.run(self.job(steps, "--json", "-q"), check=True,
                                         capture_output=True).stdout)
        folder = self.folder / "state"
        acknowledged = kills = resumes = beginnings = damages = 0
        while True:
            # Remains of a kill inside the first checkpoint do not hinder another job, unless the checkpoint
            # was complete but not reported.
            resume = acknowledged > 0 or self.is_restorable(folder)
            beginnings += 0 if resume else 1
            # After the wanted number of kills it may finish.
            command = self.checkpointed(steps, folder, resume) + ["--json", "--verbose"]
            if kills < KILLS:
                code, output, said = self.run_until_killed(command, draw)
            else:
                done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
                code, output, said = done.returncode, done.stdout, done.stderr
            self.assertIn(code, (0, -9), said)
            if resume:
                found = RESUMED.search(said)
                if found is None:  # Killed before it could report a checkpoint.
                    self.assertEqual(code, -9, said)
                else:
                    resumes += 1
                    self.assertGreaterEqual(int(found.group(1)), acknowledged, said)
            acknowledged = max([acknowledged, *map(int, SAFE.findall(said))])
            if code == 0 and kills >= KILLS:
                break
            if code == 0:  # The job ended before the kill; the next round begins another job.
                acknowledged = 0
                shutil.rmtree(folder)
                continue
            kills += 1
            if resume and draw.random() < 0.3:
                self.mend(folder)
                self.damage(folder, draw)
                damages += 1
        result = json.loads(output)
        print(f"{kills} kills, {resumes} resumes, {beginnings} beginnings, {damages} damages; "
              f"final loss {result['final_loss']!r}, undisturbed {calm['final_loss']!r}",
              file=sys.stderr)
        self.assertGreater(resumes, 0)
        self.assertEqual(result["steps"], steps)
        # Usually equal to the bit. On a busy machine a worker that is silent for long is skipped for
        # some steps, and sums in another order differ by rounding, which Adam amplifies.
        self.assertLessEqual(abs(result["final_loss"] - calm["final_loss"]),
                             1e-4 * calm["final_loss"])

    def is_restorable(self, folder):
        verified = subprocess.run([PROGRAM, "checkpoint", "verify", folder, "--json"],
                                  capture_output=True)
        return verified.stdout != b"" and json.loads(verified.stdout)["restorable"]

    def test_a_kill_inside_the_first_checkpoint_does_not_stop_the_next_job(self):
        folder = self.folder / "first"
        subprocess.run(self.checkpointed(3, folder, False), check=True, capture_output=True)
        for node in ("node-02", "node-03", "node-04"):  # As after a kill with two of five shards written.
            shutil.rmtree(folder / node)
        before = {path: path.read_bytes() for path in folder.glob("node-*/*.shard")}
        again = subprocess.run(self.checkpointed(3, folder, False), text=True, capture_output=True)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("cannot be restored and was in the way", again.stderr)
        for path, content in before.items():
            self.assertEqual(path.with_name(path.name + ".orphan-1").read_bytes(), content)
        self.run_program("checkpoint", "verify", folder)

    def mend(self, folder):
        """Repairs the checkpoint. Otherwise damage of several runs adds up to more than the code tolerates."""
        listed = subprocess.run([PROGRAM, "checkpoint", "list", folder, "--json"], check=True,
                                capture_output=True).stdout
        for one in json.loads(listed):
            subprocess.run([PROGRAM, "checkpoint", "restore", folder, "--step", str(one["step"])],
                           capture_output=True)

    def test_more_loss_than_the_code_stands_is_refused_by_name(self):
        folder = self.folder / "lost"
        subprocess.run(self.checkpointed(10, folder, False), check=True, capture_output=True)
        for node in ("node-00", "node-03"):
            shutil.rmtree(folder / node)
        subprocess.run(self.checkpointed(12, folder, True), check=True, capture_output=True)
        for node in ("node-00", "node-02", "node-03"):
            shutil.rmtree(folder / node)
        refused = subprocess.run(self.checkpointed(14, folder, True), text=True,
                                 capture_output=True)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        for node in ("node-00", "node-02", "node-03"):
            self.assertIn(node, refused.stderr)

    def full_folder(self, name):
        """A file system without free space, and the file that fills it."""
        folder = self.folder / name
        folder.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"no small file system: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=False)
        filler = folder / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096) == 4096:
                    pass
            except OSError:
                pass
        return folder, filler

    def test_a_last_checkpoint_that_failed_is_a_failure(self):
        folder, _ = self.full_folder("full")
        for quiet in ([], ["-q"]):
            done = subprocess.run(self.checkpointed(7, folder / "state", False) + quiet, text=True,
                                  capture_output=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("motley: the checkpoint was not saved: ", done.stderr)
            self.assertIn("7 steps", done.stdout)

    def test_training_outlives_a_full_disk_and_a_signal_saves_the_newest_step(self):
        folder, filler = self.full_folder("small")
        process = subprocess.Popen(self.checkpointed(10**9, folder / "state", False),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_quietly, process)
        said = self.read_until(process, "was not written")
        filler.unlink()
        said += self.read_until(process, "can be written again")
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, rest)
        ended = re.search(r"stopped after (\d+) of \d+ steps; (\d+) steps are safe", rest)
        self.assertIsNotNone(ended, rest)
        self.assertEqual(ended.group(1), ended.group(2), "the newest step is saved")

    def test_a_broken_folder_is_left_out_and_said_until_it_works_again(self):
        folder = self.folder / "spared"
        subprocess.run(self.checkpointed(6, folder, False), check=True, capture_output=True)
        shutil.rmtree(folder / "node-01")
        (folder / "node-01").write_text("a file")
        done = subprocess.run(self.checkpointed(30, folder, True), text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("is degraded, it survives 1 more loss; left out: "
                                           f"{folder}/node-01 ("), 2, "once, and at the end")
        listed = self.run_program("checkpoint", "list", folder).stdout
        self.assertIn("degraded: survives 1 more loss", listed)
        shown = self.run_program("checkpoint", "verify", folder, expect=1).stdout
        self.assertIn("degraded: survives 1 more loss; motley checkpoint restore can restore it", shown)
        (folder / "node-01").unlink()
        done = subprocess.run(self.checkpointed(40, folder, True), text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("degraded", done.stderr)
        self.run_program("checkpoint", "verify", folder)

    def test_fewer_folders_than_the_code_needs_are_a_failure(self):
        folder = self.folder / "broken"
        folder.mkdir()
        for node in ("node-00", "node-01", "node-04"):
            (folder / node).write_text("a file")
        done = subprocess.run(self.checkpointed(7, folder, False), text=True, capture_output=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("3 of 5 shards failed, and 2 can be left out at most", done.stderr)
        self.assertIn("motley: the checkpoint was not saved: ", done.stderr)

    def test_a_lost_newest_is_given_up_only_by_who_says_so(self):
        folder = self.folder / "older"
        subprocess.run(self.checkpointed(9, folder, False), check=True, capture_output=True)
        damaged = [folder / node / "step-000000000009.shard"
                   for node in ("node-00", "node-02", "node-03")]
        for path in damaged:
            content = bytearray(path.read_bytes())
            content[600] ^= 1
            path.write_bytes(bytes(content))
        refused = subprocess.run(self.checkpointed(12, folder, True), text=True,
                                 capture_output=True)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        for path in damaged:
            self.assertIn(str(path), refused.stderr)
        older = self.run_json("checkpoint", "list", folder)[1]["step"]
        way_on = f"--resume {folder} --resume-step {older}"
        self.assertIn(way_on, refused.stderr)
        done = subprocess.run(self.checkpointed(12, folder, False) + way_on.split(), text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("was in the way", done.stderr)
        for path in damaged:
            self.assertTrue(path.with_name(path.name + ".orphan-1").exists())
        self.assertEqual(self.run_json("checkpoint", "list", folder)[0]["step"], 12)
        self.run_program("checkpoint", "verify", folder)

    def read_until(self, process, words):
        limit = time.monotonic() + PATIENCE_S
        said = ""
        for line in process.stderr:
            said += line
            if words in line:
                return said
            self.assertLess(time.monotonic(), limit, said)
        self.fail(f"it ended without saying '{words}': {said}")

    def test_settings_that_would_change_the_curve_are_refused_by_name(self):
        folder = self.folder / "settings"
        subprocess.run(self.checkpointed(10, folder, False), check=True, capture_output=True)
        for flag, value in (("--batch", "61"), ("--seed", "8"), ("--model", "softmax"),
                            ("--optimizer", "sgd"), ("--split", "0.5")):
            refused = self.run_program("train", "--data", self.data, "--resume", folder, flag,
                                       value, expect=6)
            self.assertIn(flag, refused.stderr)
        other = self.run_program("train", "--data", self.data, "--checkpoint", folder, expect=6)
        self.assertIn("another job", other.stderr)


if __name__ == "__main__":
    if "--kills" in sys.argv:
        at = sys.argv.index("--kills")
        KILLS = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main(verbosity=2)
