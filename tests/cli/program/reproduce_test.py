#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""motley reproduce, run as by a user."""

import json
import shutil
import subprocess
import unittest

from tools.program import PATIENCE_S, PROGRAM, ProgramTest

MEMBERS = {"experiment", "scheme", "setting", "published", "published_up_to", "reference_value", "reference_kind",
           "reference", "measured", "tolerance", "pass"}
PUBLISHED_KINDS = {"paper", "artefact"}


class Reproduce(ProgramTest):
    def test_figures_are_an_array_of_objects(self):
        rows = self.run_json("reproduce", "A6", "a4")
        self.assertEqual({row["experiment"] for row in rows}, {"A4", "A6"})
        for row in rows:
            self.assertEqual(set(row), MEMBERS)
            self.assertIs(row["pass"], True)
            if row["reference_kind"] is None:
                self.assertIsNone(row["published"])
                self.assertIsNone(row["reference_value"])
                self.assertIsNone(row["reference"])
                continue
            published = row["reference_kind"] in PUBLISHED_KINDS
            self.assertIs(row["published"] is not None, published)
            self.assertIs(row["reference_value"] is None, published)
            value = row["published"] if published else row["reference_value"]
            self.assertLessEqual(abs(row["measured"] - value), row["tolerance"] * value)

    def test_only_published_figures_are_called_so(self):
        kinds = {row["experiment"]: row["reference_kind"]
                 for row in self.run_json("reproduce", "A6", "a4") if row["reference_kind"]}
        self.assertEqual(kinds, {"A4": "formula", "A6": "paper"})

    def test_table_names_the_publication(self):
        done = self.run_program("reproduce", "A6")
        self.assertIn("paper: Konstantinidis, Ramamoorthy: ByzShield, MLSys 2021, Table 3",
                      done.stdout)
        self.assertIn("no code of the product runs here", done.stdout)
        self.assertIn("12 figures, all pass", done.stdout)
        self.assertIn("A6:", done.stderr)  # This is progress.

    def test_quiet_says_nothing_on_the_way(self):
        self.assertEqual(self.run_program("reproduce", "A6", "--quiet").stderr, "")

    def test_seed_changes_random_figures_only(self):
        first = self.run_json("reproduce", "A4", "--seed", 1)
        self.assertEqual(first, self.run_json("reproduce", "A4", "--seed", 1, "--threads", 1))
        other = self.run_json("reproduce", "A4", "--seed", 2)
        self.assertEqual(first[0], other[0])  # Exact figures do not depend on the seed.
        self.assertNotEqual(first[1]["measured"], other[1]["measured"])

    def test_help_lists_them(self):
        text = self.run_program("reproduce", "--help").stdout
        for name in ("A1", "A8", "S3.8", "lambda"):
            self.assertIn(name, text)

    def test_unknown_name_gets_the_list(self):
        done = self.run_program("reproduce", "A9", expect=2)
        self.assertEqual(done.stdout, "")
        self.assertIn("'A9'", done.stderr)
        self.assertIn("A1, A2, A3", done.stderr)

    def test_data_that_were_named_must_be_there(self):
        done = self.run_program("reproduce", "A5", "--data", self.folder, expect=3)
        self.assertIn(str(self.folder), done.stderr)

    def test_data_that_nobody_named_are_skipped_with_a_reason(self):
        # Not in a checkout, which could have the data beside it.
        for above in self.folder.resolve().parents:
            if (above / "shared" / "data").exists():
                self.skipTest(f"the program finds data in {above}, the folder of temporary files or one above it")
        program = self.folder / "motley"
        shutil.copy(PROGRAM, program)
        done = subprocess.run([program, "reproduce", "A5", "A6", "--json"], cwd=self.folder,
                              text=True, capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({row["experiment"] for row in json.loads(done.stdout)}, {"A6"})
        self.assertIn("A5: skipped", done.stderr)
        self.assertIn("--data", done.stderr)
        alone = subprocess.run([program, "reproduce", "A5"], cwd=self.folder, text=True,
                               capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(alone.returncode, 3, alone.stderr)
        self.assertEqual(alone.stdout, "")


if __name__ == "__main__":
    unittest.main()
