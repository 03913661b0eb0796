"""The other things that happen on an X server: a client that manages the settings of the desktop, types, locks the screen, and
shows windows beside the tested programs."""
import ctypes
import struct
import time

LOOK_SECONDS = 0.02
KEY_PRESS, KEY_RELEASE = 1, 0
REPLACE = 0
OVERRIDE_REDIRECT = 1 << 9
STRUCTURE_NOTIFY = 1 << 17
CLIENT_MESSAGE = 33


class Message(ctypes.Structure):
    """XClientMessageEvent, with room for any XEvent."""
    _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int), ("display", ctypes.c_void_p),
                ("window", ctypes.c_ulong), ("message_type", ctypes.c_ulong), ("format", ctypes.c_int),
                ("longs", ctypes.c_long * 5), ("room", ctypes.c_long * 12)]


class Attributes(ctypes.Structure):
    """XSetWindowAttributes."""
    _fields_ = [("pixels", ctypes.c_ulong * 4), ("gravities", ctypes.c_int * 3), ("planes", ctypes.c_ulong * 2),
                ("save_under", ctypes.c_int), ("masks", ctypes.c_long * 2), ("override_redirect", ctypes.c_int),
                ("others", ctypes.c_ulong * 2)]


def encoded(settings, serial):
    """The settings as clients of a settings manager read them (XSETTINGS, "Format")."""
    def padded(text):
        return text + b"\0" * (-len(text) % 4)
    text = struct.pack("<BxxxII", 0, serial, len(settings))
    for name, value in settings.items():
        text += struct.pack("<BxH", int(isinstance(value, str)), len(name)) + padded(name.encode()) + struct.pack("<I", serial)
        if isinstance(value, str):
            text += struct.pack("<I", len(value)) + padded(value.encode())
        else:
            text += struct.pack("<i", value)
    return text


class XDesk:
    def __init__(self, display):
        self.x, self.test = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
        window, atom = ctypes.c_ulong, ctypes.c_ulong
        for name, result, arguments in (
                ("XOpenDisplay", ctypes.c_void_p, [ctypes.c_char_p]),
                ("XDefaultRootWindow", window, [ctypes.c_void_p]),
                ("XInternAtom", atom, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]),
                ("XCreateSimpleWindow", window, [ctypes.c_void_p, window, *[ctypes.c_int] * 2, *[ctypes.c_uint] * 3,
                                                 *[ctypes.c_ulong] * 2]),
                ("XChangeWindowAttributes", ctypes.c_int, [ctypes.c_void_p, window, ctypes.c_ulong, ctypes.c_void_p]),
                ("XMapRaised", ctypes.c_int, [ctypes.c_void_p, window]),
                ("XDestroyWindow", ctypes.c_int, [ctypes.c_void_p, window]),
                ("XSetSelectionOwner", ctypes.c_int, [ctypes.c_void_p, atom, window, ctypes.c_ulong]),
                ("XGetSelectionOwner", window, [ctypes.c_void_p, atom]),
                ("XChangeProperty", ctypes.c_int, [ctypes.c_void_p, window, atom, atom, ctypes.c_int, ctypes.c_int,
                                                   ctypes.c_char_p, ctypes.c_int]),
                ("XSendEvent", ctypes.c_int, [ctypes.c_void_p, window, ctypes.c_int, ctypes.c_long, ctypes.c_void_p]),
                ("XWarpPointer", ctypes.c_int, [ctypes.c_void_p, window, window, *[ctypes.c_int] * 2, *[ctypes.c_uint] * 2,
                                                *[ctypes.c_int] * 2]),
                ("XGrabKeyboard", ctypes.c_int, [ctypes.c_void_p, window, *[ctypes.c_int] * 3, ctypes.c_ulong]),
                ("XUngrabKeyboard", ctypes.c_int, [ctypes.c_void_p, ctypes.c_ulong]),
                ("XSync", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]),
                ("XCloseDisplay", ctypes.c_int, [ctypes.c_void_p])):
            function = getattr(self.x, name)
            function.restype, function.argtypes = result, arguments
        self.test.XTestFakeKeyEvent.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_ulong]
        self.display = self.x.XOpenDisplay(display.encode())
        self.root = self.x.XDefaultRootWindow(self.display)
        self.manager = self.window()
        self.settings, self.serial = {}, 0
        # Hides the pointer, whose shape depends on what it was above before.
        fixes = ctypes.CDLL("libXfixes.so.3")
        fixes.XFixesQueryVersion.argtypes = [ctypes.c_void_p, *[ctypes.POINTER(ctypes.c_int)] * 2]
        fixes.XFixesHideCursor.argtypes = [ctypes.c_void_p, window]
        fixes.XFixesQueryVersion(self.display, ctypes.byref(ctypes.c_int(4)), ctypes.byref(ctypes.c_int(0)))
        fixes.XFixesHideCursor(self.display, self.root)
        # Moves the pointer away, so that no program draws that the pointer is above it.
        self.x.XWarpPointer(self.display, 0, self.root, 0, 0, 0, 0, 5000, 5000)
        self.sync()

    def sync(self):
        self.x.XSync(self.display, 1)

    def close(self):
        if self.display:
            self.x.XCloseDisplay(self.display)
        self.display = None

    def atom(self, name):
        return self.x.XInternAtom(self.display, name.encode(), 0)

    def window(self, width=1, height=1):
        return self.x.XCreateSimpleWindow(self.display, self.root, 0, 0, width, height, 0, 0, 0x3060A0)

    def put(self, window, name, kind, value):
        self.x.XChangeProperty(self.display, window, self.atom(name), self.atom(kind), 8, REPLACE, value, len(value))
        self.sync()

    def await_owner(self, selection):
        while not self.x.XGetSelectionOwner(self.display, self.atom(selection)):
            time.sleep(LOOK_SECONDS)

    # --- Settings of the desktop.

    def manage_settings(self, **settings):
        """Becomes the manager of the settings (XSETTINGS). `_` in a name is `/`."""
        self.set(**settings)
        owned = self.atom("_XSETTINGS_S0")
        self.x.XSetSelectionOwner(self.display, owned, self.manager, 0)
        message = Message(type=CLIENT_MESSAGE, window=self.root, message_type=self.atom("MANAGER"), format=32,
                          longs=(0, owned, self.manager, 0, 0))
        self.x.XSendEvent(self.display, self.root, 0, STRUCTURE_NOTIFY, ctypes.byref(message))
        self.sync()

    def set(self, **settings):
        self.settings.update({name.replace("_", "/"): value for name, value in settings.items()})
        self.serial += 1
        self.put(self.manager, "_XSETTINGS_SETTINGS", "_XSETTINGS_SETTINGS", encoded(self.settings, self.serial))

    def set_resources(self, text):
        """Sets the resource database, as xrdb(1) does."""
        self.put(self.root, "RESOURCE_MANAGER", "STRING", text.encode())

    # --- The user.

    def type(self, *codes):
        """Presses the keys with these codes in this order, and releases them in the reverse order."""
        for code in codes:
            self.test.XTestFakeKeyEvent(self.display, code, KEY_PRESS, 0)
        for code in reversed(codes):
            self.test.XTestFakeKeyEvent(self.display, code, KEY_RELEASE, 0)
        self.sync()

    def lock_and_unlock(self):
        """Covers the screen and grabs the keyboard, as lockers do, and gives both back."""
        cover = self.window(5000, 5000)
        self.x.XChangeWindowAttributes(
            self.display, cover, OVERRIDE_REDIRECT, ctypes.byref(Attributes(override_redirect=1)))
        self.x.XMapRaised(self.display, cover)
        self.x.XGrabKeyboard(self.display, self.root, 0, 1, 1, 0)
        self.sync()
        self.x.XUngrabKeyboard(self.display, 0)
        self.x.XDestroyWindow(self.display, cover)
        self.sync()

    def show_others(self, count):
        """Shows and closes this number of windows."""
        for _ in range(count):
            window = self.window(300, 200)
            self.x.XMapRaised(self.display, window)
            self.sync()
            self.x.XDestroyWindow(self.display, window)
        self.sync()
