# SPDX-License-Identifier: GPL-2.0-only
"""The one exception that users see: a message, details below it, no traceback."""


class ForgeError(Exception):
    def __init__(self, message: str, details: str = "", status: int = 1):
        super().__init__(message)
        self.message = message
        self.details = details
        self.status = status
