# SPDX-License-Identifier: Apache-2.0
"""Skips the tests of motley.torch where PyTorch is missing."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
