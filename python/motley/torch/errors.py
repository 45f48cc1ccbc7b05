# SPDX-License-Identifier: Apache-2.0
"""What cannot be trained exactly is refused, with what to do instead."""


class Refused(RuntimeError):
    """The model, the optimizer or the loop would make the result depend on which worker computed what."""
