"""The user's window, from which programs are launched. It prints "active" or "inactive" when the focus comes or goes, and for
each line of its input "token " and what a launcher gives to a program that it starts now (GAppLaunchContext)."""
import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gio, GLib, Gtk  # noqa: E402


class User:
    def __init__(self):
        self.pressed_at, self.is_active = 0, False
        self.window = Gtk.Window(title="user", default_width=300, default_height=200)
        if "Wayland" in type(Gdk.Display.get_default()).__name__:
            # Also without a keyboard, a compositor says which window is the active one.
            self.window.connect("window-state-event", lambda _, event: self.note_active(
                bool(event.new_window_state & Gdk.WindowState.FOCUSED)))
        else:
            self.window.connect("notify::is-active", lambda *_: self.note_active(self.window.is_active()))
        self.window.connect("key-press-event", self.note)
        self.window.connect("destroy", Gtk.main_quit)
        GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, self.answer)
        self.window.show_all()

    def say(self, text):
        print(text, flush=True)

    def note_active(self, is_active):
        if is_active != self.is_active:
            self.is_active = is_active
            self.say("active" if is_active else "inactive")

    def note(self, _, event):
        self.pressed_at = event.time
        self.say("pressed")
        return True

    def answer(self, source, _):
        if not source.readline():
            Gtk.main_quit()
            return False
        context = Gdk.Display.get_default().get_app_launch_context()
        context.set_timestamp(self.pressed_at)
        program = Gio.AppInfo.create_from_commandline("program", "program", Gio.AppInfoCreateFlags.SUPPORTS_STARTUP_NOTIFICATION)
        self.say(f"token {context.get_startup_notify_id(program, [])}")
        return True


User()
Gtk.main()
