# SPDX-License-Identifier: Apache-2.0
"""More codes and optimizers in jobs of several processes, beside a plain one."""

import pytest
from digits_jobs import check_code, check_optimizer

# The error of decoding grows with the code's coefficients.
CODES = [("heterogeneous", 1, 1e-5), ("cyclic", 1, 1e-5), ("rs", 1, 1e-5), ("adaptive", None, 1e-6),
         ("auto", None, 1e-5)]


@pytest.mark.parametrize("code, tolerate, error", CODES)
def test_one_worker_pauses_and_one_dies(code, tolerate, error):
    check_code(code, tolerate, error)


@pytest.mark.parametrize("optimizer", ["adam", "rmsprop"])
def test_optimizers(optimizer):
    check_optimizer(optimizer)
