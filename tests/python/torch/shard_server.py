# SPDX-License-Identifier: Apache-2.0
"""Holds a part of the vector of the job at MOTLEY_SERVER, until that job ends."""

import os

import motley

motley.Job("shard_server", server=os.environ["MOTLEY_SERVER"], token=os.environ["MOTLEY_TOKEN"]).run()
