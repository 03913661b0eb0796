"""Apps for Greenroom, in Python: pause, launch options, life-cycle events, scenes.

One file, standard library only (Python 3.9 or later, Linux). An app is a script with
`Type=application-kit` in its manifest:

    import greenroom_app as app           # imports run during the prewarm

    class Delegate(app.ApplicationDelegate):
        def did_finish_launching(self, application, launch_options):
            print("launched for", launch_options)
            return True

    app.application_main(Delegate)        # the prewarm stops exactly here

The names are UIKit's, spelled as Python spells names; the order of the callbacks and the rules are those
of ApplicationKit, which this module imitates over the same channel. A callback counts as implemented if
the delegate has a method of that name. Started by hand, without Greenroom, an app makes itself a launch
into the foreground.

An app with a loop of its own calls `application_start` instead of `application_main`, watches
`application.fileno()` for reading, and calls `application.process_events()` once before the loop begins
and whenever the descriptor is readable:

    application = app.application_start(Delegate)          # asyncio
    application.process_events()
    if application.fileno() >= 0:
        loop.add_reader(application.fileno(), application.process_events)

    GLib.unix_fd_add_full(0, application.fileno(), GLib.IOCondition.IN,
        lambda *_: application.process_events() or True)  # GLib
"""

from __future__ import annotations

import array
import collections
import enum
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import termios
import time
import warnings
from dataclasses import dataclass, field
from typing import Callable

__all__ = [
    "Application", "ApplicationDelegate", "ApplicationState", "Activity", "ActivationState",
    "LaunchInfo", "LaunchReason", "OpenURL", "ProtectedDataUnavailable", "QuickAction", "Scene",
    "SceneDelegate", "application_main", "application_start",
]

# --- The wire: one datagram is one message, a header of 160 bytes and NUL-terminated strings.

_HEADER = struct.Struct("<IHHIIIIIIQiI28i")  # ... cookie, status, threads, 28 roles
_MAGIC, _VERSION = 0x31435247, 1
_DATAGRAM_LIMIT = 160 + 65_536
_DESCRIPTOR_LIMIT = 28
_STRINGS_ROLE, _DIRECTORY_ROLE, _CREDENTIALS_ROLE = -3, -1, -4
_NEW_SESSION, _CONTROLLING_TERMINAL, _STRINGS_IN_DESCRIPTOR = 2, 4, 8
_UMASK_UNCHANGED = 0xFFFFFFFF
_PAUSED_AT_APPLICATION_MAIN = 2

_PAUSED, _STARTED, _PONG, _ERROR, _GO, _PING, _QUIT = 1, 2, 3, 4, 16, 17, 18
_LAUNCH, _LIFECYCLE, _CONNECT, _SCENE, _DISCARD, _DELIVER, _ANSWER, _CREDENTIALS = range(32, 40)
_ACKNOWLEDGED, _STEP, _OVERRAN, _FIRST_FRAME, _REQUEST_SCENE, _OPEN_URL = range(64, 70)
_NOTES = (_STEP, _OVERRAN, _FIRST_FRAME)  # that nobody waits for
_OUTBOX_LIMIT = 256  # of notes; acknowledgements answer the daemon's own messages
_REQUEST_LIMIT = 256
_ASKED_AGAIN = 1 << 63


@dataclass
class _Message:
    type: int
    flags: int = 0
    cookie: int = 0
    status: int = 0
    umask: int = 0
    words: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    roles: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)

    def pairs(self):
        return [entry.partition("=")[::2] for entry in self.fields]

    def close(self):
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []


class _Malformed(Exception):
    def __init__(self, code, cookie=0):
        super().__init__(os.strerror(code))
        self.code, self.cookie = code, cookie


class _Channel:
    """The app's end of the socket to the daemon."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.socket.set_inheritable(False)
        self._outbox = collections.deque()
        # Readable when there is something to receive, or room for what waits.
        self.watch = select.epoll()
        self.watch.register(self.socket, select.EPOLLIN)

    def close(self):
        self.watch.close()
        self.socket.close()

    def send(self, type, *, status=0, cookie=0, words=(), fields=(), threads=0):
        strings = b"".join(os.fsencode(text) + b"\0" for text in (*words, *fields))
        header = _HEADER.pack(
            _MAGIC, _VERSION, type, 0, len(words), len(fields), len(strings), 0, 0, cookie, status,
            threads, *([0] * 28))
        self._outbox.append(header + strings)
        if len(self._outbox) == 1:
            self.flush()
            if self._outbox:
                self.watch.modify(self.socket, select.EPOLLIN | select.EPOLLOUT)
        elif type in _NOTES and len(self._outbox) > _OUTBOX_LIMIT:
            self._outbox.pop()

    def flush(self):
        """Sends what waits, in its order, as far as there is room: an app that says much at once would
        otherwise lose an acknowledgement among its notes."""
        was_waiting = len(self._outbox) > 1
        while self._outbox:
            try:
                self.socket.send(self._outbox[0], socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                pass  # A daemon that is gone shows when we listen.
            self._outbox.popleft()
        if was_waiting:
            self.watch.modify(self.socket, select.EPOLLIN)

    def drain(self):
        """Before the process ends: waits a moment for a daemon that is slow to read."""
        self.flush()
        while self._outbox and select.select([], [self.socket], [], 5)[1]:
            self.flush()

    def receive(self, waiting):
        """The next message; None if there is none now. Raises EOFError at the end."""
        while True:
            try:
                data, control, flags, _ = self.socket.recvmsg(
                    _DATAGRAM_LIMIT, socket.CMSG_SPACE(4 * _DESCRIPTOR_LIMIT),
                    socket.MSG_CMSG_CLOEXEC | (0 if waiting else socket.MSG_DONTWAIT))
            except BlockingIOError:
                return None
            except ConnectionError:
                raise EOFError from None
            if not data:
                raise EOFError
            descriptors = array.array("i")
            for level, kind, content in control:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    descriptors.frombytes(content[: len(content) - len(content) % 4])
            message = _Message(0, descriptors=list(descriptors))
            try:
                if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                    raise _Malformed(errno.EPROTO)
                self._decode(data, message)
                return message
            except _Malformed as error:
                message.close()
                self.send(_ERROR, status=error.code, cookie=error.cookie)

    @staticmethod
    def _decode(data, message):
        if len(data) < _HEADER.size:
            raise _Malformed(errno.EPROTO)
        (magic, version, message.type, message.flags, argument_count, environment_count, byte_count,
         message.umask, descriptor_count, message.cookie, message.status, _, *roles) = _HEADER.unpack_from(data)
        if magic != _MAGIC or version != _VERSION or descriptor_count != len(message.descriptors):
            raise _Malformed(errno.EPROTO, message.cookie)
        if message.type not in (_GO, _PING, _QUIT, *range(_LAUNCH, _CREDENTIALS + 1)):
            raise _Malformed(errno.ENOSYS, message.cookie)
        message.roles = roles[:descriptor_count]
        strings = data[_HEADER.size:]
        if message.type == _GO and message.flags & _STRINGS_IN_DESCRIPTOR:
            if not message.roles or message.roles[-1] != _STRINGS_ROLE:
                raise _Malformed(errno.EPROTO, message.cookie)
            message.roles.pop()
            file = message.descriptors.pop()
            strings = os.pread(file, byte_count, 0)
            os.close(file)
        if len(strings) != byte_count or (strings and strings[-1] != 0):
            raise _Malformed(errno.EPROTO, message.cookie)
        texts = [os.fsdecode(part) for part in strings.split(b"\0")[:-1]]
        if len(texts) != argument_count + environment_count:
            raise _Malformed(errno.EPROTO, message.cookie)
        message.words, message.fields = texts[:argument_count], texts[argument_count:]


# --- What an app is launched for.


@dataclass
class OpenURL:
    url: str
    source_application: str | None = None
    annotation: str | None = None
    event_attribution: str | None = None
    open_in_place: bool = False


@dataclass
class Activity:
    type: str
    title: str | None = None
    webpage_url: str | None = None
    target_content_identifier: str | None = None
    user_info: dict[str, str] = field(default_factory=dict)


@dataclass
class QuickAction:
    type: str
    title: str | None = None
    subtitle: str | None = None
    user_info: dict[str, str] = field(default_factory=dict)


class LaunchReason(enum.IntEnum):
    USER = 0
    URL = 1
    QUICK_ACTION = 2
    USER_ACTIVITY = 3
    REMOTE_NOTIFICATION = 4
    LOCATION = 5
    TIMER = 6
    SOCKET = 7
    PATH = 8
    SYSTEM = 9


_SINGLE = {
    "source-application": "source_application", "handoff": "handoff_user_activity_type",
    "remote-notification": "remote_notification", "local-notification": "local_notification",
    "notification-response": "notification_response", "cloudkit-share": "cloudkit_share_metadata",
}
_LISTS = {
    "newsstand-download": "newsstand_downloads", "bluetooth-central": "bluetooth_centrals",
    "bluetooth-peripheral": "bluetooth_peripherals",
}
_DETAILS = {
    "url": {"source": "source_application", "annotation": "annotation", "attribution": "event_attribution"},
    "activity": {"title": "title", "page": "webpage_url", "target": "target_content_identifier"},
    "action": {"title": "title", "subtitle": "subtitle"},
}


def _content(pairs):
    """The launch options, by UIKit's names; a key is there only if the launch has it."""
    options = {}
    latest = {}
    for name, value in pairs:
        if name in ("url", "activity", "action"):
            made = {"url": OpenURL, "activity": Activity, "action": QuickAction}[name](value)
            latest[name] = made
            if name == "action":
                options["shortcut_item"] = made
            else:
                options.setdefault("urls" if name == "url" else "user_activities", []).append(made)
        elif name in _SINGLE:
            options[_SINGLE[name]] = value
        elif name in _LISTS:
            options.setdefault(_LISTS[name], []).append(value)
        elif name == "location":
            options["location"] = True
        else:
            owner, _, detail = name.partition(".")
            _take_detail(latest.get(owner), owner, detail, value)
    return options


def _take_detail(owner, kind, detail, value):
    if owner is None:
        return
    if detail in _DETAILS[kind]:
        setattr(owner, _DETAILS[kind][detail], value)
    elif detail == "in-place":
        owner.open_in_place = value == "1"
    elif detail.startswith("info.") and kind != "url":
        owner.user_info[detail[5:]] = value


@dataclass
class LaunchInfo:
    """Why this process runs. Stays true to its end. Times are CLOCK_MONOTONIC in nanoseconds."""

    reason: LaunchReason
    is_foreground: bool
    was_prewarmed: bool
    requested: int
    paused: int | None
    resumed: int
    arguments: list[str]


# --- Delegates. Each method is optional: what is not defined does not count.


class ApplicationDelegate:
    """Derive from it and define what you need:

    load_interface(application, name)
    will_finish_launching(application, launch_options) -> bool
    did_finish_launching(application, launch_options) -> bool
    open_url(application, context) -> bool
    continue_activity(application, activity) -> bool
    perform_action(application, shortcut_item) -> bool
    did_receive_remote_notification(application, payload) -> bool
    did_become_active, will_resign_active, did_enter_background, will_enter_foreground (application)
    will_terminate, did_receive_memory_warning, significant_time_change (application)
    protected_data_will_become_unavailable, protected_data_did_become_available (application)
    did_discard_scene_sessions(application, sessions)
    scene_delegate(application, scene) -> SceneDelegate, for an app with scenes
    """


class SceneDelegate:
    """will_connect(scene, connection_options), will_enter_foreground, did_become_active,
    will_resign_active, did_enter_background, did_disconnect (scene), open_urls(scene, contexts),
    continue_activity(scene, activity), perform_action(scene, shortcut_item) -> bool"""


class ApplicationState(enum.IntEnum):
    ACTIVE = 0
    INACTIVE = 1
    BACKGROUND = 2


class ActivationState(enum.IntEnum):
    UNATTACHED = -1
    FOREGROUND_ACTIVE = 0
    FOREGROUND_INACTIVE = 1
    BACKGROUND = 2


class ProtectedDataUnavailable(Exception):
    """The device is locked: what was asked for may exist."""


class Scene:
    def __init__(self, session, delegate):
        self.session, self.delegate = session, delegate
        self.activation_state = ActivationState.UNATTACHED


_LIFECYCLE_NAMES = {
    1: "will_enter_foreground", 2: "did_become_active", 3: "will_resign_active", 4: "did_enter_background",
    5: "will_terminate", 6: "did_receive_memory_warning", 7: "significant_time_change",
    8: "protected_data_will_become_unavailable", 9: "protected_data_did_become_available",
}
_STATES = {1: ApplicationState.INACTIVE, 2: ApplicationState.ACTIVE, 3: ApplicationState.INACTIVE,
           4: ApplicationState.BACKGROUND}
_ACTIVATIONS = {1: ActivationState.FOREGROUND_INACTIVE, 2: ActivationState.FOREGROUND_ACTIVE,
                3: ActivationState.FOREGROUND_INACTIVE, 4: ActivationState.BACKGROUND,
                5: ActivationState.UNATTACHED}
(_MAIN, _OBJECTS, _EVENT_LOOP, _INTERFACE, _WILL, _RESTORATION, _DID, _NOTIFICATION,
 _SCENE_CONFIGURATION, _SCENE_CONNECTION, _ACTIVE, _BACKGROUND, _AFTER_LAUNCH) = range(13)
_FOREGROUND, _SCENES, _UNLOCKED = 1, 2, 4
_SLOW_NANOSECONDS = 250_000_000


class Application:
    """The app, between the daemon and its delegate. Made by `application_main`, used on one thread."""

    shared: "Application | None" = None

    def __init__(self, delegate_class, start):
        channel, launch, info, credentials = start
        Application.shared = self
        self._channel = channel
        self._launch = launch
        self._credentials = credentials
        self._content = _content(launch.pairs())
        self._uses_scenes = bool(launch.flags & _SCENES)
        self._own_events = []
        self._deferred: list[Callable[[], None]] = []
        self._requests: dict[int, tuple[Callable[[str | None], None], dict]] = {}
        self._request_count = self._last_step = 0
        self._reached: set[int] = set()
        self._is_launched = self._is_processing = self._has_had_scene = False
        self._state = ApplicationState.INACTIVE if launch.flags & _FOREGROUND else ApplicationState.BACKGROUND
        self.launch_info = info
        self.is_protected_data_available = bool(launch.flags & _UNLOCKED)
        self.scenes: dict[str, Scene] = {}
        self._report_step(_MAIN)
        self.delegate = delegate_class()
        self._report_step(_OBJECTS)

    # What apps use.

    @property
    def state(self):
        """With scenes the aggregate of theirs: active, else inactive, else background."""
        if not self._has_had_scene:
            return self._state  # as the launch said
        states = {scene.activation_state for scene in self.scenes.values()}
        for activation, state in ((ActivationState.FOREGROUND_ACTIVE, ApplicationState.ACTIVE),
                                  (ActivationState.FOREGROUND_INACTIVE, ApplicationState.INACTIVE)):
            if activation in states:
                return state
        return ApplicationState.BACKGROUND

    def fileno(self):
        """Readable when `process_events` has something to do; -1 without Greenroom."""
        return self._channel.watch.fileno() if self._channel else -1

    def after_launch(self, work):
        """Puts `work` off until the launch is over."""
        self._deferred.append(work)

    def did_draw_first_frame(self, session=None):
        if self._channel:
            self._channel.send(_FIRST_FRAME, cookie=time.monotonic_ns(), words=[session] if session else [])

    def request_scene(self, action="activate", session=None, completion=None):
        """Asks for a scene to appear ("activate"; without a session, a new one), to be refreshed or to go
        ("destroy"). `completion` is told the reason of a refusal, or None."""
        kind = {"activate": 0, "refresh": 1, "destroy": 2}[action]
        if kind and session is None:
            raise ValueError(f"{action} needs a session")
        self._request(_REQUEST_SCENE, completion, status=kind, words=[session] if session else [])

    def open_url(self, url, completion=None):
        """Lets the app in charge open it."""
        self._request(_OPEN_URL, completion, words=[url])

    def credential(self, name):
        """The bytes of a credential that the manifest names; None if there is none of that name.
        Raises ProtectedDataUnavailable while it cannot be known."""
        if "/" in name or name in (".", ".."):
            return None
        if self._credentials is None:
            if not self.is_protected_data_available:
                raise ProtectedDataUnavailable(name)
            return None
        try:
            with open(os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._credentials), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def process_events(self):
        """Does everything that can be done now, without waiting. The first call runs the launch sequence."""
        if self._is_processing:
            return
        self._is_processing = True
        try:
            if not self._is_launched:
                self._finish_launching()
            if self._channel:
                self._channel.flush()
            while True:
                message = self._next()
                if message:
                    self._handle(message)
                elif not self._run_deferred():
                    break
        finally:
            self._is_processing = False

    # The launch sequence.

    def _finish_launching(self):
        self._report_step(_EVENT_LOOP)
        interface = self._launch.words[0] if self._launch.words else ""
        if interface and not self._uses_scenes:
            self._call("load_interface", self, interface)
            self._report_step(_INTERFACE)
        options = None if self._uses_scenes else self._content
        will = self._call("will_finish_launching", self, options)
        self._report_step(_WILL)
        self._report_step(_RESTORATION)
        did = self._call("did_finish_launching", self, options)
        self._report_step(_DID)
        os.environ.pop("ActivePrewarm", None)
        self._report_step(_NOTIFICATION)
        self._is_launched = True
        accepted = all(result is None or result for result in (will, did))
        if not self._uses_scenes:
            content = dict(self._content)
            if not accepted:
                for key in ("urls", "shortcut_item", "user_activities", "handoff_user_activity_type"):
                    content.pop(key, None)
            self._deliver_to_delegate(content)
        if self._channel is None:
            self._own_events = [_Message(_LIFECYCLE, status=2)]  # by hand: into the foreground
        self._acknowledge(self._launch.cookie, accepted or "remote_notification" in self._content)

    # Events.

    def _next(self):
        while self._channel:
            try:
                message = self._channel.receive(waiting=False)
            except EOFError:
                # The daemon is gone for good: the app goes on by itself.
                self._channel.close()
                self._channel = None
                waiting, self._requests = self._requests, {}
                for completion, _ in waiting.values():
                    completion("greenroomd is gone")
                break
            if message is None:
                return None
            if message.type == _PING:
                self._channel.send(_PONG, cookie=message.cookie)
            elif message.type == _QUIT:
                self._channel.drain()
                raise SystemExit(0)
            elif message.type in (_GO, _LAUNCH):
                message.close()
                self._channel.send(_ERROR, status=errno.EPROTO, cookie=message.cookie)
            else:
                return message
        return self._own_events.pop(0) if self._own_events else None

    def _handle(self, message):
        handled = True
        if message.type in (_LIFECYCLE, _CONNECT, _SCENE) and 0 < message.cookie < 1 << 63:
            # Steps count up from 1. A daemon that was restarted does not know that one was done.
            if message.cookie <= self._last_step:
                return self._acknowledge(message.cookie)
            self._last_step = message.cookie
        if message.type == _LIFECYCLE:
            self._lifecycle(message)
        elif message.type == _CONNECT:
            self._connect(message)
        elif message.type == _SCENE:
            self._move(message)
        elif message.type == _DISCARD:
            for session in message.words:
                self.scenes.pop(session, None)
            self._call("did_discard_scene_sessions", self, message.words)
        elif message.type == _DELIVER:
            scene = self.scenes.get(message.words[0]) if message.words else None
            content = _content(message.pairs())
            handled = self._deliver_to_scene(scene, content) if scene else self._deliver_to_delegate(content)
        elif message.type == _CREDENTIALS:
            if self._credentials is not None:
                os.close(self._credentials)
            self._credentials = message.descriptors.pop() if message.descriptors else None
        elif message.type == _ANSWER:
            if message.cookie == 0:  # another greenroomd, which does not know who waits
                for cookie, (_, kept) in self._requests.items():
                    self._channel.send(cookie=cookie | _ASKED_AGAIN, **kept)
            completion, _ = self._requests.pop(message.cookie, (None, None))
            if completion:
                completion((message.words or [os.strerror(message.status)])[0] if message.status else None)
        message.close()
        if message.type != _ANSWER:
            self._acknowledge(message.cookie, handled)

    def _lifecycle(self, message):
        name = _LIFECYCLE_NAMES.get(message.status)
        is_state = message.status in _STATES
        if name is None or (is_state and self._uses_scenes):
            return
        if message.status in (2, 4):
            self._state = _STATES[message.status]
        if message.status == 9:
            self.is_protected_data_available = True
        self._call(name, self)
        if is_state:
            self._state = _STATES[message.status]
            self._report_first(_ACTIVE if message.status == 2 else _BACKGROUND if message.status == 4 else None)
        elif message.status == 8:
            self.is_protected_data_available = False
        elif message.status == 5:
            self._acknowledge(message.cookie)
            sys.stdout.flush()
            if self._channel:
                self._channel.drain()
            raise SystemExit(0)

    def _connect(self, message):
        session = message.words[0]
        scene = self.scenes.setdefault(session, Scene(session, None))
        scene.delegate = self._call("scene_delegate", self, scene)
        self._report_step(_SCENE_CONFIGURATION, session)
        self._call_of(scene.delegate, "will_connect", scene, _content(message.pairs()))
        self._report_step(_SCENE_CONNECTION, session)
        if not message.flags & 1:
            scene.activation_state = ActivationState.BACKGROUND
            self._has_had_scene = True

    def _move(self, message):
        scene = self.scenes.get(message.words[0])
        if scene is None or message.status not in _ACTIVATIONS:
            return
        name = "did_disconnect" if message.status == 5 else _LIFECYCLE_NAMES[message.status]
        # A state is left when the callback that announces it has returned, and entered before the one
        # that tells of it.
        if message.status in (2, 4, 5):
            scene.activation_state = _ACTIVATIONS[message.status]
        self._call_of(scene.delegate, name, scene)
        scene.activation_state = _ACTIVATIONS[message.status]
        self._has_had_scene = True
        if message.status == 5:
            del self.scenes[scene.session]
        self._report_first(
            _ACTIVE if message.status == 2 else _BACKGROUND if message.status == 4 else None, scene.session)

    def _deliver_to_delegate(self, content):
        results = [self._call("open_url", self, context) for context in content.get("urls", [])]
        results += [self._call("continue_activity", self, one) for one in content.get("user_activities", [])]
        if "shortcut_item" in content:
            results.append(self._call("perform_action", self, content["shortcut_item"]))
        if "remote_notification" in content:
            results.append(
                self._call("did_receive_remote_notification", self, content["remote_notification"]))
        return all(bool(result) for result in results)

    def _deliver_to_scene(self, scene, content):
        if "urls" in content:
            self._call_of(scene.delegate, "open_urls", scene, content["urls"])
        for activity in content.get("user_activities", []):
            self._call_of(scene.delegate, "continue_activity", scene, activity)
        if "shortcut_item" in content:
            return bool(self._call_of(scene.delegate, "perform_action", scene, content["shortcut_item"]))
        return True

    def _run_deferred(self):
        # The launch is over when the app has been told whether it is in front.
        has_first_state = self._has_had_scene if self._uses_scenes else bool(self._reached)
        if not self._deferred or not has_first_state or self.state == ApplicationState.INACTIVE:
            return False
        self._deferred.pop(0)()
        if not self._deferred:
            self._report_step(_AFTER_LAUNCH)
        return True

    # Telling the daemon.

    def _call(self, name, *arguments):
        """What the callback of the application's delegate returns; None if it has none."""
        return self._call_of(self.delegate, name, *arguments)

    def _call_of(self, delegate, name, *arguments):
        callback = getattr(delegate, name, None)
        if callback is None:
            return None
        began = time.monotonic_ns()
        result = callback(*arguments)
        elapsed = time.monotonic_ns() - began
        if elapsed > _SLOW_NANOSECONDS and self._channel:
            self._channel.send(_OVERRAN, cookie=elapsed, words=[name])
        return result

    def _acknowledge(self, cookie, handled=True):
        if self._channel and cookie:
            self._channel.send(_ACKNOWLEDGED, cookie=cookie, status=0 if handled else 1)

    def _report_step(self, step, session=None):
        if self._channel:
            self._channel.send(_STEP, cookie=time.monotonic_ns(), status=step, words=[session] if session else [])

    def _report_first(self, step, session=None):
        if step is not None and step not in self._reached:
            self._reached.add(step)
            self._report_step(step, session)

    def _request(self, type, completion, **message):
        if self._channel is None:
            if completion:
                completion("Greenroom did not launch this app")
            return
        completion = completion or (lambda reason: None)
        if len(self._requests) >= _REQUEST_LIMIT:
            return completion("too many requests wait for their answers")
        self._request_count += 1
        message["type"] = type
        self._requests[self._request_count] = completion, message
        self._channel.send(cookie=self._request_count, **message)


# --- The pause.


def application_main(delegate_class):
    """Waits for the launch, creates the delegate, and runs the app to its end. Call it once, last."""
    application = application_start(delegate_class)
    application.process_events()
    while application._channel:
        select.select([application.fileno()], [], [])
        application.process_events()
    while True:  # Without a daemon there is nothing more to hear.
        time.sleep(3600)


def application_start(delegate_class):
    """As `application_main`, for apps with a loop of their own: returns when the launch has come."""
    return Application(delegate_class, _await_launch())


def _await_launch():
    channel = _find_channel()
    now = time.monotonic_ns()
    if channel is None:
        os.environ.pop("ActivePrewarm", None)
        launch = _Message(_LAUNCH, flags=_FOREGROUND | _UNLOCKED)
        info = LaunchInfo(LaunchReason.USER, True, False, now, None, now, list(sys.argv))
        return None, launch, info, None
    is_prewarmed = os.environ.get("ActivePrewarm") == "1"
    if is_prewarmed:
        channel.send(
            _PAUSED, status=_PAUSED_AT_APPLICATION_MAIN, cookie=now,
            threads=max(0, os.stat("/proc/self/task").st_nlink - 2))
    launch = credentials = None
    while True:
        try:
            message = channel.receive(waiting=True)
        except EOFError:
            raise SystemExit(0) from None  # Nobody will launch it any more.
        if message.type == _PING:
            channel.send(_PONG, cookie=message.cookie)
        elif message.type == _QUIT:
            raise SystemExit(0)
        elif message.type == _LAUNCH:
            launch = message
            credentials = message.descriptors.pop() if message.descriptors else None
            if not is_prewarmed:
                break
        elif message.type == _GO and is_prewarmed:
            try:
                _apply(message)
            except OSError as error:
                channel.send(_ERROR, status=error.errno, cookie=message.cookie)
                raise SystemExit(1) from None
            break
        else:
            message.close()
            channel.send(_ERROR, status=errno.EPROTO, cookie=message.cookie)
    channel.send(_STARTED, cookie=message.cookie)
    launch = launch or _Message(_LAUNCH, flags=_FOREGROUND)
    requested = dict(launch.pairs()).get("requested", "0")
    reason = LaunchReason(launch.status) if launch.status in set(LaunchReason) else LaunchReason.SYSTEM
    info = LaunchInfo(
        reason, bool(launch.flags & _FOREGROUND), is_prewarmed, int(requested), now if is_prewarmed else None,
        time.monotonic_ns(), list(sys.argv))
    return channel, launch, info, credentials


def _find_channel():
    """GREENROOM_CHANNEL is "descriptor:inode": a variable that was inherited by accident names no socket."""
    value = os.environ.pop("GREENROOM_CHANNEL", None)
    if value is None:
        return None
    try:
        descriptor, inode = (int(part) for part in value.split(":"))
        if os.fstat(descriptor).st_ino != inode:
            return None
    except (ValueError, OSError):
        return None
    return _Channel(descriptor)


def _keep_job_control():
    """Why ^Z works in an app: the kernel stops a process group only where one of its members has a parent in
    another group of the same session (setpgid(2)), and the parent of an app is elsewhere. So a keeper, in a
    group of its own, has a child in the app's group; both do nothing, hear no signal, and end with the app.
    The keeper is nobody's child that waits."""
    app = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of modules: these two run no code of theirs
        middle = os.fork()
        if middle:
            os.waitpid(middle, 0)
            return
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
            end = os.pidfd_open(app)
            ready, told = os.pipe()
            if os.fork():
                os.close(told)
                os.read(ready, 1)  # until the keeper has left the group
                os._exit(0)
            if os.fork():
                os.setpgid(0, 0)
            os.dup2(end, 3)
            os.closerange(0, 3)
            os.closerange(4, os.sysconf("SC_OPEN_MAX"))
            select.select([3], [], [])
        finally:
            os._exit(0)


def _apply(go):
    """Makes this process the launch: descriptors, directory, umask, environment, arguments."""
    places = [role for role in go.roles if role >= 0]
    above = max([2, *places]) + 1
    moved = []
    for descriptor in go.descriptors:
        moved.append(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above))
        os.close(descriptor)
    go.descriptors = []
    for role, descriptor in zip(go.roles, moved):
        if role == _DIRECTORY_ROLE:
            os.fchdir(descriptor)
        else:
            os.dup2(descriptor, role)
        os.close(descriptor)
    if go.flags & _NEW_SESSION:
        os.setsid()
    if go.flags & _CONTROLLING_TERMINAL:
        terminal = next((number for number in range(3) if os.isatty(number)), None)
        if terminal is not None:
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
            _keep_job_control()
    if go.umask != _UMASK_UNCHANGED:
        os.umask(go.umask)
    os.environ.clear()
    for name, value in go.pairs():
        if name:
            os.environ[name] = value
    os.environ["ActivePrewarm"] = "1"  # until the launch is over, as Apple has it
    # The words behind the interpreter's: from this script's name on.
    script = sys.argv[0]
    sys.argv[:] = go.words[go.words.index(script):] if script in go.words else [script, *go.words[1:]]
