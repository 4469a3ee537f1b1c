# SPDX-License-Identifier: GPL-2.0-only
"""The one kind of error that a user of the laboratory sees without a traceback."""


class LabError(Exception):
    """Something went wrong outside the program: a guest that does not boot, a missing file.

    `message` is one line.  `details` is more of the same story, a line each: the tail of a
    console, a dump, the command that failed.
    """

    exit_code = 1

    def __init__(self, message: str, details: str | list[str] | tuple[str, ...] = ()):
        super().__init__(message)
        self.message = message
        self.details = details.splitlines() if isinstance(details, str) else list(details)

    def __reduce__(self):
        # Errors travel from worker processes; the default would lose the details.
        return (type(self), (self.message, self.details))


class InputError(LabError):
    """What the user wrote is wrong: a scenario, a policy, an argument."""

    exit_code = 2
