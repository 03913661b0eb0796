#!/usr/bin/env python3
"""Reader: shows a text page by page, and comes back where its user was. Pages are divided by empty lines.

    greenroomctl run Reader [FILE]        on a terminal: Enter is the next page, b the one before, q ends
    greenroomctl action Reader next       from elsewhere; also previous
    greenroomctl open file:///a/text      another text, from its beginning
"""
import os
import select
import sys
import urllib.parse

import greenroom_app as app

WELCOME = """Welcome. This text was installed when Reader was launched for the first time.

The page that you leave is the one you find again, even after an update or a reboot.

When you force Reader to quit (greenroomctl kill), it starts from the beginning.
"""


class Delegate(app.ApplicationDelegate):
    def will_finish_launching(self, application, options):
        words = application.launch_info.arguments[1:]
        self.path = os.path.abspath(words[0]) if words else self.welcome(application.launch_info)
        self.page = 0
        self.shown = None
        return True

    def welcome(self, info):
        """Installs the text once; the user may change it afterwards."""
        folder = info.container.state_directory if info.container else os.environ.get("TMPDIR", "/tmp")
        path = os.path.join(folder, "welcome.txt")
        if info.is_first_launch or not os.path.exists(path):
            with open(path, "w") as file:
                file.write(WELCOME)
        return path

    # State restoration.

    def should_save_secure_application_state(self, application, coder):
        coder["path"], coder["page"] = self.path, self.page
        return True

    def should_restore_secure_application_state(self, application, coder):
        return coder.launch_document_url is None and len(application.launch_info.arguments) < 2

    def did_decode_restorable_state(self, application, coder):
        self.path, self.page = coder.get("path", self.path), coder.get("page", 0)

    # Requests.

    def open_url(self, application, context):
        parts = urllib.parse.urlsplit(context.url)
        if parts.scheme != "file":
            return False
        self.turn(0, urllib.parse.unquote(parts.path))
        return True

    def perform_action(self, application, action):
        if action.type not in ("next", "previous"):
            return False
        self.turn(self.page + (1 if action.type == "next" else -1))
        return True

    def did_become_active(self, application):
        self.turn(self.page)
        application.did_draw_first_frame()

    def will_enter_foreground(self, application):
        self.shown = None  # no page is on the screen

    # Pages.

    def turn(self, page, path=None):
        self.path = path or self.path
        try:
            with open(self.path) as file:
                pages = [one for one in file.read().split("\n\n") if one.strip()]
        except (OSError, UnicodeDecodeError) as error:
            return print(f"{self.path}: {error}", flush=True)
        self.page = max(0, min(page, len(pages) - 1))
        if pages and self.shown != (self.path, self.page):
            self.shown = self.path, self.page
            print(f"{pages[self.page].strip()}\n({self.page + 1} of {len(pages)})", flush=True)

    def key(self, line):
        if line.strip() == "q" or not line:
            sys.exit(0)
        self.turn(self.page + (-1 if line.strip() == "b" else 1))


def main():
    application = app.application_start(Delegate)
    application.process_events()
    watched = [sys.stdin] if sys.stdin and sys.stdin.isatty() else []
    while True:
        waited = [*watched, *([application] if application.fileno() >= 0 else [])]
        if not waited:
            sys.exit("without a terminal and a daemon, nobody can turn the pages")
        readable = select.select(waited, [], [])[0]
        if application in readable:
            application.process_events()
        if sys.stdin in readable:
            application.delegate.key(sys.stdin.readline())


main()
