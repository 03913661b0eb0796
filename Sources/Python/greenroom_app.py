"""Apps for Greenroom, in Python: pause, launch options, life-cycle events, scenes, state restoration,
background time, scheduled work.

One file, standard library only (Python 3.9 or later, Linux). An app is a script with
`Type=application-kit` in its manifest:

    import greenroom_app as app           # imports run during the prewarm

    class Delegate(app.ApplicationDelegate):
        def did_finish_launching(self, application, launch_options):
            print("launched for", launch_options)
            return True

    app.application_main(Delegate)        # the prewarm stops exactly here

The names are UIKit's in Python's spelling. The order of the callbacks and the rules are those of
ApplicationKit, and the app channel is the same. A callback counts as implemented if the delegate has a
method of that name. An app that is started by hand, without Greenroom, behaves as if it had been launched
into the foreground.

An app with its own event loop calls `application_start` instead of `application_main`, watches
`application.fileno()` for reading, and calls `application.process_events()` once before the loop begins
and whenever the descriptor is readable:

    application = app.application_start(Delegate)          # asyncio
    application.process_events()
    if application.fileno() >= 0:
        loop.add_reader(application.fileno(), application.process_events)

    GLib.unix_fd_add_full(0, application.fileno(), GLib.IOCondition.IN,
        lambda *_: application.process_events() or application.fileno() >= 0)  # GLib

    watcher = QSocketNotifier(application.fileno(), QSocketNotifier.Read)  # Qt
    watcher.activated.connect(application.process_events)
"""

from __future__ import annotations

import array
import collections
import enum
import errno
import fcntl
import math
import os
import re
import select
import signal
import socket
import struct
import sys
import termios
import time
import warnings

__all__ = [
    "Application", "ApplicationDelegate", "ApplicationState", "Activity", "ActivationState",
    "AppRefreshTaskRequest", "Container", "LaunchInfo", "LaunchReason", "NotificationResponse", "OpenURL",
    "ProcessingTaskRequest", "ProtectedDataUnavailable", "QuickAction", "Scene", "SceneDelegate",
    "StateCoder", "Task", "TaskKind", "TaskScheduler", "application_main", "application_start",
]
__version__ = "0.1.0"

# --- The wire: one datagram is one message, a header of 160 bytes and NUL-terminated strings.

_HEADER = struct.Struct("<IHHIIIIIIQiI28i")  # ... cookie, status, threads, 28 roles
_MAGIC, _VERSION = 0x31435247, 1
_DATAGRAM_LIMIT = 160 + 65_536
_DESCRIPTOR_LIMIT = 28
_STRINGS_ROLE, _DIRECTORY_ROLE, _CREDENTIALS_ROLE = -3, -1, -4
_NEW_SESSION, _CONTROLLING_TERMINAL, _STRINGS_IN_DESCRIPTOR, _DIRECTORY_BY_NAME = 2, 4, 8, 16
_UMASK_UNCHANGED = 0xFFFFFFFF
_PAUSED_AT_APPLICATION_MAIN = 2

_PAUSED, _STARTED, _PONG, _ERROR, _GO, _PING, _QUIT = 1, 2, 3, 4, 16, 17, 18
_RESTORE, _TIME, _TIME_EXPIRES, _RUN, _PENDING, _EXPIRE = 48, *range(51, 56)
_SAVE, _EXTEND, _COMPLETE, _BEGIN, _END, _SUBMIT, _QUERY, _COMPLETED, _LAUNCH_TASK = range(80, 89)
_LAUNCH_STEPS = 92
_LAUNCH, _LIFECYCLE, _CONNECT, _SCENE, _DISCARD, _DELIVER, _ANSWER, _CREDENTIALS, _EVENTS = range(32, 41)
_ACKNOWLEDGED, _STEP, _OVERRAN, _FIRST_FRAME, _REQUEST_SCENE, _OPEN_URL = range(64, 70)
_NOTES = (_STEP, _OVERRAN, _FIRST_FRAME)  # messages that nobody waits for
_OUTBOX_LIMIT = 256  # only for notes; acknowledgements only answer the daemon's messages
_REQUEST_LIMIT = 256
_ASKED_AGAIN = 1 << 63

_KNOWN = {_GO, _PING, _QUIT, *range(_LAUNCH, _EVENTS + 1), _RESTORE, *range(_TIME, _EXPIRE + 1)}


class _Record:
    """A class of fields. It is like a dataclass, but the modules that `dataclasses` imports would double the
    time that an app needs to start. A default that is a list or a dictionary is copied."""

    _fields = ()

    def __init_subclass__(cls):
        own = getattr(cls, "__annotations__", ())  # before Python 3.10, these may be the base's
        cls.__match_args__ = cls._fields = tuple(dict.fromkeys((*cls._fields, *own)))

    def __init__(self, *values, **named):
        if len(values) > len(self._fields):
            raise TypeError(f"{type(self).__name__} takes at most {len(self._fields)} values")
        for name, value in zip(self._fields, values):
            if name in named:
                raise TypeError(f"{type(self).__name__} got two values for {name!r}")
            self.__dict__[name] = value
        for name in self._fields[len(values):]:
            if name in named:
                self.__dict__[name] = named.pop(name)
            elif hasattr(type(self), name):
                default = getattr(type(self), name)
                self.__dict__[name] = default.copy() if isinstance(default, (list, dict)) else default
            else:
                raise TypeError(f"{type(self).__name__} needs a value for {name!r}")
        if named:
            raise TypeError(f"{type(self).__name__} has no {', '.join(map(repr, named))}")

    def __repr__(self):
        values = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._fields)
        return f"{type(self).__name__}({values})"

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = None


class _Message(_Record):
    type: int
    flags: int = 0
    cookie: int = 0
    status: int = 0
    umask: int = 0
    words: list[str] = []
    fields: list[str] = []
    roles: list[int] = []
    descriptors: list[int] = []

    def pairs(self):
        return [entry.partition("=")[::2] for entry in self.fields]

    def word(self, index):
        """None if it is missing or empty."""
        return self.words[index] or None if index < len(self.words) else None

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
        self._watches_room = False
        # Readable when a message has arrived, or when there is room for a waiting one.
        self.watch = select.epoll()
        self.watch.register(self.socket, select.EPOLLIN)

    def close(self):
        self.watch.close()
        self.socket.close()

    def send(self, type, *, status=0, cookie=0, flags=0, words=(), fields=(), threads=0):
        texts = [os.fsencode(text) for text in (*words, *fields)]
        if any(b"\0" in text for text in texts):
            raise ValueError("a text with a NUL character cannot be sent")
        strings = b"".join(text + b"\0" for text in texts)
        header = _HEADER.pack(
            _MAGIC, _VERSION, type, flags, len(words), len(fields), len(strings), 0, 0, cookie, status,
            threads, *([0] * 28))
        self._outbox.append(header + strings)
        if len(self._outbox) == 1:
            self.flush()
            if self._outbox:
                self._watch_room(True)
        elif type in _NOTES and len(self._outbox) > _OUTBOX_LIMIT:
            self._outbox.pop()

    def flush(self):
        """Sends waiting messages in order while there is room. Without the outbox, an app that sends many
        messages at once could lose an acknowledgement."""
        while self._outbox:
            try:
                self.socket.send(self._outbox[0], socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                pass  # If the daemon has closed its end, the next receive says so.
            self._outbox.popleft()
        if self._watches_room:
            self._watch_room(False)

    def _watch_room(self, is_watched):
        self._watches_room = is_watched
        self.watch.modify(self.socket, select.EPOLLIN | (select.EPOLLOUT if is_watched else 0))

    def drain(self):
        """Sends all waiting messages before the process ends, and waits a while for a slow daemon."""
        self.flush()
        while self._outbox and select.select([], [self.socket], [], 5)[1]:
            self.flush()

    def receive(self, waiting):
        """Returns the next message, or None if there is none now. Raises EOFError at the end."""
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
        if message.type not in _KNOWN:
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


class OpenURL(_Record):
    url: str
    source_application: str | None = None
    annotation: str | None = None
    event_attribution: str | None = None
    open_in_place: bool = False


class Activity(_Record):
    type: str
    title: str | None = None
    webpage_url: str | None = None
    target_content_identifier: str | None = None
    user_info: dict[str, str] = {}


class QuickAction(_Record):
    type: str
    title: str | None = None
    subtitle: str | None = None
    user_info: dict[str, str] = {}


class NotificationResponse(_Record):
    """What the user chose on a notification."""

    action_identifier: str
    payload: str | None = None


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
    SCHEDULED_TASK = 10


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
    """The launch options by UIKit's names. A key is present only if the launch has its value."""
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


class Container(_Record):
    """The app's own folders, which it may write to (`Container=` in the manifest), as absolute paths."""

    state_directory: str  # for files that must be kept
    cache_directory: str  # for files that the app can make again; may be emptied between launches
    temporary_directory: str  # emptied after the app has ended


class LaunchInfo(_Record):
    """Why the app was launched. Only the reason changes: it is the latest one, if the app was wanted again
    while it ran or was suspended. Times are CLOCK_MONOTONIC in nanoseconds."""

    reason: LaunchReason
    is_foreground: bool
    was_prewarmed: bool
    requested: int
    paused: int | None
    resumed: int
    arguments: list[str]
    # No launch of the app, or of this version, has ever finished here: the time for one-time setup.
    is_first_launch: bool = False
    is_first_launch_of_version: bool = False
    version: str | None = None  # Version= in the manifest
    container: Container | None = None


# --- Saved state.


class StateCoder:
    """An app's state as named values, to be written and read: `coder["page"] = 3`. Values are str, bool,
    int, float, bytes or a list of str, with at most 32 KiB in all; None removes a value. State says where
    the user was; what the user created belongs in files. Each restorable object has its own names."""

    def __init__(self, app_version=None, timestamp=None, launch_document_url=None):
        self.app_version = app_version  # Version= when the state was saved
        self.timestamp = timestamp  # when it was saved: seconds since 1970; None while it is being saved
        # The file: URL that the app was launched to open. If the document should be shown without the
        # earlier state, should_restore_secure_application_state can return False.
        self.launch_document_url = launch_document_url
        self._values = {}
        self._object = ""

    def __setitem__(self, key, value):
        if value is None:
            self._values.pop((self._object, key), None)
        else:
            self._values[self._object, key] = _text_of(value)

    def __getitem__(self, key):
        return _value_of(self._values[self._object, key])

    def get(self, key, default=None):
        return self[key] if key in self else default

    def __contains__(self, key):
        return (self._object, key) in self._values

    def _objects(self):
        return [name for name in dict.fromkeys(owner for owner, _ in self._values) if name]

    def _fields(self):
        return [f"{_escape(owner)}/{_escape(key)}={text}" for (owner, key), text in self._values.items()]

    def _take(self, fields):
        for entry in fields:
            name, _, text = entry.partition("=")
            owner, slash, key = name.partition("/")
            if slash and text:
                self._values[_unescape(owner), _unescape(key)] = text


_SPECIAL = "%/=\0"


def _escape(text):
    return "".join(f"%{_SPECIAL.index(one)}" if one in _SPECIAL else one for one in text)


def _unescape(text):
    return re.sub("%([0-3])", lambda match: _SPECIAL[int(match[1])], text)


def _text_of(value):
    if isinstance(value, bool):
        return "b1" if value else "b0"
    if isinstance(value, int):
        return f"i{value}"
    if isinstance(value, float):
        return "d" + struct.pack(">d", value).hex()
    if isinstance(value, str):
        return "s" + _escape(value)
    if isinstance(value, bytes):
        return "x" + value.hex()
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return "a" + "".join(_escape(one) + "/" for one in value)
    raise TypeError(f"state cannot hold {type(value).__name__}: use str, bool, int, float, bytes or a list of str")


def _value_of(text):
    kind, rest = text[:1], text[1:]
    if kind == "s":
        return _unescape(rest)
    if kind == "b":
        return rest == "1"
    if kind == "i":
        return int(rest)
    if kind == "d":
        return struct.unpack(">d", bytes.fromhex(rest.zfill(16)))[0]
    if kind == "x":
        return bytes.fromhex(rest)
    if kind == "a":
        return [_unescape(one) for one in rest.split("/")[:-1]]
    raise ValueError(f"state of an unknown type: {text[:20]!r}")


_ARCHIVE_LIMIT = 32 << 10
_RESTORED = {"title": "title", "page": "webpage_url", "target": "target_content_identifier"}


def _activity_fields(activity):
    fields = ["restored=" + activity.type]
    for name, attribute in _RESTORED.items():
        if getattr(activity, attribute) is not None:
            fields.append(f"restored.{name}={getattr(activity, attribute)}")
    return fields + [f"restored.info.{key}={value}" for key, value in activity.user_info.items()]


def _restored_activity(pairs):
    activity = None
    for name, value in pairs:
        if name == "restored":
            activity = Activity(value)
        elif name.startswith("restored."):
            _take_detail(activity, "activity", name[len("restored."):], value)
    return activity


# --- Work in the background.


class TaskKind(enum.IntEnum):
    APP_REFRESH = 0  # a short task that updates what the app shows
    PROCESSING = 1  # minutes of work while nobody uses the machine


class AppRefreshTaskRequest(_Record):
    """`identifier` is one of the manifest's `ScheduledTasks=`; `earliest_begin` is in seconds since 1970."""

    identifier: str
    earliest_begin: float | None = None


class ProcessingTaskRequest(AppRefreshTaskRequest):
    requires_external_power: bool = False
    requires_network_connectivity: bool = False


class Task:
    """One run of scheduled work. `expiration_handler` is called with the task shortly before its deadline.
    Without a handler, a task that expires is completed as failed."""

    def __init__(self, application, number, identifier, kind, deadline):
        self._application, self.number = application, number
        self.identifier, self.kind = identifier, kind
        self.deadline = deadline  # CLOCK_MONOTONIC in nanoseconds; its expiration comes earlier
        self.expiration_handler: Callable[["Task"], None] | None = None
        self._was_told = False

    def set_task_completed(self, success):
        """Completes the task. Calling it again does nothing."""
        self._application.task_scheduler._complete(self.number, bool(success))


class TaskScheduler:
    """Schedules work that is requested now and run later, even if the app is no longer running.
    `application.task_scheduler` is the only one."""

    def __init__(self, application):
        self._application = application
        self._handlers: dict[str, Callable[[Task], None]] = {}
        self._runs: dict[int, Task] = {}
        self._known: list[int] = []  # the latest runs, which a restarted daemon may repeat

    def register(self, identifier, launch_handler):
        """Registers the handler for an identifier. It is called with the task, and should return soon. Register
        each identifier once, before the launch is over: in did_finish_launching at the latest."""
        if self._application._is_launched:
            raise RuntimeError("tasks are registered before the launch is over, in did_finish_launching")
        if identifier in self._handlers:
            raise ValueError(f"{identifier} is registered already")
        self._handlers[identifier] = launch_handler

    def submit(self, request, completion=None):
        """Submits a request, which replaces a pending one with the same identifier. `completion` is called with
        the reason of a refusal, or None. A request is refused if the manifest does not name the task, or if one
        refresh or ten processing requests are pending."""
        is_processing = isinstance(request, ProcessingTaskRequest)
        earliest = request.earliest_begin
        self._application._request(
            _SUBMIT, completion, status=int(is_processing), words=[request.identifier],
            flags=is_processing and (_NEEDS_POWER if request.requires_external_power else 0)
            | (_NEEDS_NETWORK if request.requires_network_connectivity else 0),
            fields=[] if earliest is None else [f"earliest={int(earliest * 1_000_000)}"])

    def cancel(self, identifier):
        """Cancels a pending request. A run that has begun goes on."""
        self._application._tell(_QUERY, status=1, words=[identifier])

    def cancel_all(self):
        self._application._tell(_QUERY, status=2)

    def get_pending_task_requests(self, completion):
        """Calls `completion` with the list of pending requests, or with None if there is no daemon."""
        self._application._request(_QUERY, completion)

    @staticmethod
    def _requests(pairs):
        details = []
        for name, value in pairs:
            if name == "task":
                details.append({"identifier": value})
            elif details and name.startswith("task."):
                details[-1][name[len("task."):]] = value
        requests = []
        for one in details:
            earliest = int(one["earliest"]) / 1_000_000 if "earliest" in one else None
            requests.append(
                ProcessingTaskRequest(
                    one["identifier"], earliest, one.get("power") == "1", one.get("network") == "1")
                if one.get("kind") == "1" else AppRefreshTaskRequest(one["identifier"], earliest))
        return requests

    def _run(self, message):
        if message.cookie in self._known or not message.word(0):
            return
        self._known = [*self._known[-15:], message.cookie]
        self._application.launch_info.reason = LaunchReason.SCHEDULED_TASK
        handler = self._handlers.get(message.words[0])
        if handler is None:
            return self._application._tell(_COMPLETED, cookie=message.cookie, status=2)
        deadline = dict(message.pairs()).get("deadline")
        task = Task(
            self._application, message.cookie, message.words[0], TaskKind(message.status),
            int(deadline) if deadline else None)
        self._runs[task.number] = task
        self._application._timed(handler, "task", task)

    def _expire(self, number):
        task = self._runs.get(number)
        if task is None or task._was_told:
            return
        task._was_told = True
        if task.expiration_handler is None:
            return task.set_task_completed(False)
        self._application._timed(task.expiration_handler, "expiration_handler", task)

    def _complete(self, number, success):
        if self._runs.pop(number, None):
            self._application._tell(_COMPLETED, cookie=number, status=0 if success else 1)


_NO_LIMIT = (1 << 64) - 1
_NEEDS_POWER, _NEEDS_NETWORK = 1, 2
_BACKGROUND_TASK_LIMIT = 64
_LAUNCH_TASK_LIMIT, _LAUNCH_TASK_NAME_LIMIT = 16, 128


class _BackgroundTask(_Record):
    handler: Callable[[], None] | None
    was_told: bool = False


# --- Delegates. Each method is optional. Content for which there is no method counts as not handled.


class ApplicationDelegate:
    """The base class of an app's delegate. Define the methods that the app needs:

    load_interface(application, name)
    will_finish_launching(application, launch_options) -> bool
    did_finish_launching(application, launch_options) -> bool
    open_url(application, context) -> bool
    continue_activity(application, activity) -> bool
    perform_action(application, shortcut_item) -> bool
    did_receive_remote_notification(application, payload) -> bool
    did_receive_notification_response(application, response) -> bool: the user has answered a notification;
        without this method, did_receive_remote_notification is called
    did_receive_local_notification(application, payload) -> bool, when the user has opened it
    user_did_accept_cloudkit_share(application, metadata) -> bool
    handle_events(application, reason, options): events of the system wait for the app, which was already
        running or was suspended: a timer, socket or path of its manifest, or location or Bluetooth events.
        `options` are what a launch would bring
    did_become_active, will_resign_active, did_enter_background, will_enter_foreground (application)
    will_terminate, did_receive_memory_warning, significant_time_change (application)
    protected_data_will_become_unavailable, protected_data_did_become_available (application)
    did_discard_scene_sessions(application, sessions)
    scene_delegate(application, scene) -> SceneDelegate, for an app with scenes

    State restoration of an app without scenes uses these methods, in this order. State is saved when the app
    has left the foreground, and when it is about to end in the foreground. State is restored between
    will_finish_launching and did_finish_launching, or later if protected data was unavailable. Each coder is a
    StateCoder:

    should_save_secure_application_state(application, coder) -> bool: False deletes the earlier state
    will_encode_restorable_state(application, coder), then the objects' encode_restorable_state(coder)
    should_restore_secure_application_state(application, coder) -> bool: False leaves the state as it is
    object_with_restoration_identifier(application, identifier, coder) -> object, for an object that is not
        registered; the objects' decode_restorable_state(coder), then application_finished_restoring_state()
    did_decode_restorable_state(application, coder)
    """


class SceneDelegate:
    """will_connect(scene, connection_options), will_enter_foreground, did_become_active,
    will_resign_active, did_enter_background, did_disconnect (scene), open_urls(scene, contexts),
    continue_activity(scene, activity), perform_action(scene, shortcut_item) -> bool,
    user_did_accept_cloudkit_share(scene, metadata) -> bool;
    state_restoration_activity(scene) -> Activity to save, or None;
    restore_interaction_state(scene, activity), called after will_connect, unless the scene is connected to
    open a document; later if protected data was unavailable"""


# The number of arguments of each method, without its object.
_APPLICATION_METHODS = {
    "load_interface": 2, "will_finish_launching": 2, "did_finish_launching": 2, "open_url": 2, "continue_activity": 2,
    "perform_action": 2, "did_receive_remote_notification": 2, "did_receive_notification_response": 2,
    "did_receive_local_notification": 2, "user_did_accept_cloudkit_share": 2, "handle_events": 3,
    "did_become_active": 1, "will_resign_active": 1, "did_enter_background": 1, "will_enter_foreground": 1,
    "will_terminate": 1, "did_receive_memory_warning": 1, "significant_time_change": 1,
    "protected_data_will_become_unavailable": 1, "protected_data_did_become_available": 1,
    "did_discard_scene_sessions": 2, "scene_delegate": 2, "should_save_secure_application_state": 2,
    "will_encode_restorable_state": 2, "should_restore_secure_application_state": 2,
    "object_with_restoration_identifier": 3, "did_decode_restorable_state": 2,
}
_SCENE_METHODS = {
    "will_connect": 2, "will_enter_foreground": 1, "did_become_active": 1, "will_resign_active": 1,
    "did_enter_background": 1, "did_disconnect": 1, "open_urls": 2, "continue_activity": 2, "perform_action": 2,
    "user_did_accept_cloudkit_share": 2, "state_restoration_activity": 1, "restore_interaction_state": 2,
}


def _warn_of_near_misses(delegate, methods):
    """Warns about methods whose names are nearly a delegate's, and about those that cannot take their
    arguments. Takes a few milliseconds, so it is for development: started by hand, or with
    `python3 -X dev`."""
    for name in dir(type(delegate)):
        function = getattr(type(delegate), name)
        place = f"{type(delegate).__name__}.{name}"
        if name.startswith("_") or not hasattr(function, "__code__"):
            continue
        if name in methods:
            code, least = function.__code__, len(function.__defaults__ or ())
            most, wanted = code.co_argcount, methods[name] + 1
            if not code.co_flags & 4 and not most - least <= wanted <= most:  # 4: it has *arguments
                warnings.warn(f"{place} is called with {wanted - 1} arguments and takes {most - 1}", stacklevel=2)
            continue
        near = next((one for one in methods if not hasattr(delegate, one) and _is_near(name, one)), None)
        if near:
            warnings.warn(f"{place} is never called; is {near} meant?", stacklevel=2)


def _is_near(one, other):
    """Whether the names differ by at most two letters."""
    if abs(len(one) - len(other)) > 2:
        return False
    row = range(len(other) + 1)
    for line, letter in enumerate(one, 1):
        next_row = [line]
        for column, known in enumerate(other):
            next_row.append(min(row[column] + (letter != known), row[column + 1] + 1, next_row[-1] + 1))
        row = next_row
    return row[-1] <= 2


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
    """The device is locked. The credential may exist."""


class Scene:
    def __init__(self, session, delegate):
        self.session, self.delegate = session, delegate
        self.activation_state = ActivationState.UNATTACHED
        # The activity that the scene saved last; None if there is none, or if protected data is unavailable.
        self.state_restoration_activity: Activity | None = None

    def extend_state_restoration(self):
        """The same as the application's method, for this scene."""
        Application.shared._extend(self.session)

    def complete_state_restoration(self):
        Application.shared._complete(self.session)

    def _is_in_front(self):
        return self.activation_state in (ActivationState.FOREGROUND_ACTIVE, ActivationState.FOREGROUND_INACTIVE)


_LIFECYCLE_NAMES = {
    1: "will_enter_foreground", 2: "did_become_active", 3: "will_resign_active", 4: "did_enter_background",
    5: "will_terminate", 6: "did_receive_memory_warning", 7: "significant_time_change",
    8: "protected_data_will_become_unavailable", 9: "protected_data_did_become_available",
}
_PROTECTED_DATA_IS_UNAVAILABLE = 10
_STATES = {1: ApplicationState.INACTIVE, 2: ApplicationState.ACTIVE, 3: ApplicationState.INACTIVE,
           4: ApplicationState.BACKGROUND}
_ACTIVATIONS = {1: ActivationState.FOREGROUND_INACTIVE, 2: ActivationState.FOREGROUND_ACTIVE,
                3: ActivationState.FOREGROUND_INACTIVE, 4: ActivationState.BACKGROUND,
                5: ActivationState.UNATTACHED}
(_MAIN, _OBJECTS, _EVENT_LOOP, _INTERFACE, _WILL, _RESTORATION, _DID, _NOTIFICATION,
 _SCENE_CONFIGURATION, _SCENE_CONNECTION, _ACTIVE, _BACKGROUND, _AFTER_LAUNCH) = range(13)
_FOREGROUND, _SCENES, _UNLOCKED, _ARCHIVE, _FIRST_LAUNCH, _FIRST_LAUNCH_OF_VERSION = 1, 2, 4, 16, 32, 64
_NAMES_CREDENTIALS = 128
_CONNECT_FOREGROUND = 1  # a flag of _CONNECT
_CALLBACK_NANOSECONDS = 250_000_000


def _netstrings(data):
    """Reads the credentials' file, in which names and values alternate, each as SIZE:BYTES and a comma."""
    while data:
        size, _, data = data.partition(b":")
        value, data = data[:int(size)], data[int(size) + 1:]
        yield value


class Application:
    """The app, between the daemon and the delegate. `application_main` creates it. Use it on one thread."""

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
        self._requests: dict[int, tuple[Callable, dict]] = {}
        self._request_count = self._last_step = 0
        self._held: list[_Message] = []  # messages that arrived while the launch sequence waited for another
        self._restorables: dict[str, object] = {}
        self._extensions: dict[str | None, int] = {}
        self._background_tasks: dict[int, _BackgroundTask] = {}
        self._last_background_task = 0
        self._background_until = _NO_LIMIT
        self._is_expiring = False
        self.task_scheduler = TaskScheduler(self)
        self._launch_tasks: set[str] = set()
        self._drawn_at = None
        self._reached_at: dict[int, int] = {}
        self._reached: set[int] = set()
        self._is_launched = self._is_processing = self._has_had_scene = False
        self._state = ApplicationState.INACTIVE if launch.flags & _FOREGROUND else ApplicationState.BACKGROUND
        self.launch_info = info
        self.is_protected_data_available = bool(launch.flags & _UNLOCKED)
        self.scenes: dict[str, Scene] = {}
        self._report_step(_MAIN)
        self.delegate = delegate_class()
        if channel is None or sys.flags.dev_mode:
            _warn_of_near_misses(self.delegate, _APPLICATION_METHODS)
        self._report_step(_OBJECTS)

    # The interface for apps.

    @property
    def state(self):
        """The app's state. With scenes, the aggregate of their states: active, else inactive, else
        background."""
        if not self._has_had_scene:
            return self._state  # as the launch said
        states = {scene.activation_state for scene in self.scenes.values()}
        for activation, state in ((ActivationState.FOREGROUND_ACTIVE, ApplicationState.ACTIVE),
                                  (ActivationState.FOREGROUND_INACTIVE, ApplicationState.INACTIVE)):
            if activation in states:
                return state
        return ApplicationState.BACKGROUND

    def fileno(self):
        """A descriptor that is readable when `process_events` has something to do; -1 if there is no daemon."""
        return self._channel.watch.fileno() if self._channel else -1

    def after_launch(self, work):
        """Calls `work` when the launch is over."""
        self._deferred.append(work)

    def extend_launch_measurement(self, task):
        """Begins work for which the user waits and which goes on after the first draw. The measured launch then
        ends only when finish_launch_measurement has been called too. The app chooses the name, of at most 128
        bytes. Raises ValueError if the task has begun already, if 16 are under way, or if the app has drawn or
        is active."""
        if not 0 < len(os.fsencode(task)) <= _LAUNCH_TASK_NAME_LIMIT:
            raise ValueError(f"the name of a launch task has 1 to {_LAUNCH_TASK_NAME_LIMIT} bytes")
        if self._drawn_at or _ACTIVE in self._reached:
            raise ValueError("the launch is over: extend it before the first draw")
        if task in self._launch_tasks:
            raise ValueError(f"the launch task {task} has begun already")
        if len(self._launch_tasks) >= _LAUNCH_TASK_LIMIT:
            raise ValueError(f"at most {_LAUNCH_TASK_LIMIT} launch tasks at once")
        self._launch_tasks.add(task)
        self._tell(_LAUNCH_TASK, cookie=time.monotonic_ns(), words=[task])

    def finish_launch_measurement(self, task):
        """Finishes work that extend_launch_measurement has begun. Raises ValueError if it has not begun or is
        already finished."""
        if task not in self._launch_tasks:
            raise ValueError(f"the launch task {task} has not begun, or is finished")
        self._launch_tasks.remove(task)
        self._tell(_LAUNCH_TASK, cookie=time.monotonic_ns(), status=1, words=[task])

    def did_draw_first_frame(self, session=None):
        """Reports that the user sees the app now. Call it once for each launch or return to the foreground."""
        now = time.monotonic_ns()
        self._drawn_at = self._drawn_at or now
        if self._channel:
            self._channel.send(_FIRST_FRAME, cookie=now, words=[session] if session else [])

    def request_scene(self, action="activate", session=None, completion=None):
        """Asks for a scene to be brought to the foreground ("activate"; without a session, a new scene), to be
        refreshed, or to be closed ("destroy"). `completion` is called with the reason of a refusal, or None."""
        kind = {"activate": 0, "refresh": 1, "destroy": 2}[action]
        if kind and session is None:
            raise ValueError(f"{action} needs a session")
        self._request(_REQUEST_SCENE, completion, status=kind, words=[session] if session else [])

    def open_url(self, url, completion=None):
        """Opens a URL in the app that handles it."""
        self._request(_OPEN_URL, completion, words=[url])

    def credential(self, name):
        """Returns the bytes of a credential that the manifest names; None if there is none of that name.
        Raises ProtectedDataUnavailable while credentials cannot be read."""
        # The device is unlocked, but the daemon could not read the credentials that the manifest
        # names.
        may_come = self._credentials is None and self._launch.flags & _NAMES_CREDENTIALS
        if not self.is_protected_data_available or may_come:
            raise ProtectedDataUnavailable(name)
        if self._credentials is None:
            return None
        size = os.fstat(self._credentials).st_size
        strings = _netstrings(os.pread(self._credentials, size, 0))
        return next((value for known, value in zip(strings, strings) if known == os.fsencode(name)), None)

    # State restoration.

    def register_object(self, restorable, identifier):
        """Registers an object whose state is saved and restored with the app's. ApplicationDelegate lists its
        methods; each is optional. None removes the object."""
        if restorable is None:
            self._restorables.pop(identifier, None)
        else:
            self._restorables[identifier] = restorable

    def extend_state_restoration(self):
        """Says that the app goes on restoring its state after the callbacks have returned, until
        complete_state_restoration has been called as many times. Until then nothing is saved over the state,
        and the state is deleted if the app fails."""
        self._extend(None)

    def complete_state_restoration(self):
        self._complete(None)

    # Background time.

    def begin_background_task(self, name=None, expiration_handler=None):
        """Begins work that may go on in the background for a while, and returns its number for
        `end_background_task`; 0 if the time is about to end, or if 64 tasks are open.
        `expiration_handler` is called shortly before the time is over. If tasks are still open then, the app is
        killed."""
        if self._is_expiring or len(self._background_tasks) >= _BACKGROUND_TASK_LIMIT:
            return 0
        self._last_background_task += 1
        task = self._last_background_task
        self._background_tasks[task] = _BackgroundTask(expiration_handler)
        self._tell(_BEGIN, cookie=task, words=[name] if name else [])
        return task

    def end_background_task(self, task):
        if self._background_tasks.pop(task, None):
            self._tell(_END, cookie=task)

    @property
    def background_time_remaining(self):
        """The remaining time in seconds; infinite if there is no limit. It is exact while a task is open."""
        if self._background_until == _NO_LIMIT:
            return math.inf
        return max(0, self._background_until - time.monotonic_ns()) / 1e9

    def process_events(self):
        """Handles all events that have arrived, without waiting for more. The first call runs the launch
        sequence."""
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
        self._restore_at_launch()
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
            self._own_events = [_Message(_LIFECYCLE, status=2)]  # started by hand: into the foreground
        self._acknowledge(self._launch.cookie, accepted or "remote_notification" in self._content)

    # Events.

    def _end_channel(self):
        """Called when the daemon has closed the channel. The app continues without the daemon."""
        self._channel.close()
        self._channel = None
        waiting, self._requests = self._requests, {}
        for answered, _ in waiting.values():
            answered(None, _ALONE)

    def _next(self):
        while self._channel or self._held:
            try:
                message = self._held.pop(0) if self._held else self._channel.receive(waiting=False)
            except EOFError:
                self._end_channel()
                break
            if message is None or not self._is_answered_here(message):
                return message
        return self._own_events.pop(0) if self._own_events else None

    def _is_answered_here(self, message):
        if message.type == _PING:
            self._channel.send(_PONG, cookie=message.cookie)
        elif message.type == _QUIT:
            self._channel.drain()
            raise SystemExit(0)
        elif message.type in (_GO, _LAUNCH):  # A process is launched once.
            message.close()
            self._channel.send(_ERROR, status=errno.EPROTO, cookie=message.cookie)
        else:
            return False
        return True

    def _handle(self, message):
        handled = True
        if message.type in (_LIFECYCLE, _CONNECT, _SCENE) and 0 < message.cookie < 1 << 63:
            # Steps count up from 1. A restarted daemon repeats a step if it does not know that the app has
            # taken it.
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
        elif message.type == _EVENTS:
            self._handle_events(message)
        elif message.type == _CREDENTIALS:
            self._drop_credentials()
            self._credentials = message.descriptors.pop() if message.descriptors else None
        elif message.type == _RESTORE:
            handled = self._restore_late(message)
        elif message.type in self._unacknowledged:
            message.close()
            return self._unacknowledged[message.type](self, message)
        message.close()
        self._acknowledge(message.cookie, handled)

    def _answered(self, message):
        if message.cookie == 0:  # a restarted greenroomd, which does not know the unanswered requests
            for cookie, (_, kept) in self._requests.items():
                self._channel.send(cookie=cookie | _ASKED_AGAIN, **kept)
            self._tell_launch_steps()
        answered, _ = self._requests.pop(message.cookie, (None, None))
        if answered:
            refusal = (message.word(0) or os.strerror(message.status)) if message.status else None
            answered(TaskScheduler._requests(message.pairs()), refusal)

    def _tell_launch_steps(self):
        times = {f"step.{step}": instant for step, instant in sorted(self._reached_at.items())}
        times |= {"paused": self.launch_info.paused, "drawn": self._drawn_at}
        fields = [f"{name}={instant}" for name, instant in times.items() if instant]
        self._channel.send(_LAUNCH_STEPS, cookie=self.launch_info.requested, fields=fields)

    def _time_changed(self, message):
        self._background_until = message.cookie
        if message.cookie == _NO_LIMIT:
            self._time_without_limit()

    def _time_without_limit(self):
        self._background_until = _NO_LIMIT
        self._is_expiring = False
        for task in self._background_tasks.values():
            task.was_told = False

    def _time_expires(self, message):
        self._background_until = message.cookie
        self._is_expiring = True
        for identifier, task in list(self._background_tasks.items()):
            # Another handler may have ended this task.
            if task.was_told or identifier not in self._background_tasks:
                continue
            task.was_told = True
            if task.handler:
                self._timed(task.handler, "expiration_handler")

    _unacknowledged = {
        _ANSWER: _answered, _PENDING: _answered, _TIME: _time_changed, _TIME_EXPIRES: _time_expires,
        _RUN: lambda self, message: self.task_scheduler._run(message),
        _EXPIRE: lambda self, message: self.task_scheduler._expire(message.cookie),
    }

    def _lifecycle(self, message):
        if message.status == _PROTECTED_DATA_IS_UNAVAILABLE:
            return self._protected_data_was_taken()
        name = _LIFECYCLE_NAMES.get(message.status)
        is_state = message.status in _STATES
        if name is None or (is_state and self._uses_scenes):
            return
        was_in_front = self._state != ApplicationState.BACKGROUND
        if message.status in (2, 4):
            self._state = _STATES[message.status]
        if message.status == 9:
            self.is_protected_data_available = True
        if message.status == 1:
            self._time_without_limit()
        if message.status == 5:
            self._save_before_end()
            self._disconnect_scenes()
        self._call(name, self)
        if message.status == 4 and was_in_front:
            self._save_state()
        if is_state:
            self._state = _STATES[message.status]
            self._report_first(_ACTIVE if message.status == 2 else _BACKGROUND if message.status == 4 else None)
        elif message.status == 8:
            self._protected_data_was_taken()
        elif message.status == 5:
            self._acknowledge(message.cookie)
            sys.stdout.flush()
            if self._channel:
                self._channel.drain()
            raise SystemExit(0)

    def _drop_credentials(self):
        if self._credentials is not None:
            os.close(self._credentials)
        self._credentials = None

    def _protected_data_was_taken(self):
        self.is_protected_data_available = False
        # The daemon hands the credentials over again after the unlock.
        self._drop_credentials()

    def _connect(self, message):
        session = message.words[0]
        scene = self.scenes.setdefault(session, Scene(session, None))
        scene.delegate = self._call("scene_delegate", self, scene)
        if sys.flags.dev_mode and scene.delegate is not None:
            _warn_of_near_misses(scene.delegate, _SCENE_METHODS)
        self._report_step(_SCENE_CONFIGURATION, session)
        scene.state_restoration_activity = _restored_activity(message.pairs()) or scene.state_restoration_activity
        content = _content(message.pairs())
        self._call_of(scene.delegate, "will_connect", scene, content)
        if _document_of(content) is None:  # Otherwise the user wants the document, not the earlier place.
            self._restore_scene(scene)
        self._report_step(_SCENE_CONNECTION, session)
        if not message.flags & _CONNECT_FOREGROUND:
            scene.activation_state = ActivationState.BACKGROUND
            self._has_had_scene = True
        if "notification_response" not in content:  # A scene has the response in its options.
            self._deliver_notification(content)

    def _move(self, message):
        scene = self.scenes.get(message.words[0])
        if scene is None or message.status not in _ACTIVATIONS:
            return
        name = "did_disconnect" if message.status == 5 else _LIFECYCLE_NAMES[message.status]
        # A callback that announces a change ("will") is called before the state changes, and a
        # callback that reports a change ("did") after it.
        was_in_front = scene._is_in_front()
        if message.status == 1:
            self._time_without_limit()
        if message.status in (2, 4, 5):
            scene.activation_state = _ACTIVATIONS[message.status]
        self._call_of(scene.delegate, name, scene)
        scene.activation_state = _ACTIVATIONS[message.status]
        if message.status == 4 and was_in_front:
            self._save_scene(scene)
        self._has_had_scene = True
        if message.status == 5:
            del self.scenes[scene.session]
        self._report_first(
            _ACTIVE if message.status == 2 else _BACKGROUND if message.status == 4 else None, scene.session)

    def _disconnect_scenes(self):
        for scene in list(self.scenes.values()):
            if scene.activation_state == ActivationState.FOREGROUND_ACTIVE:
                self._call_of(scene.delegate, "will_resign_active", scene)
            scene.activation_state = ActivationState.UNATTACHED
            self._call_of(scene.delegate, "did_disconnect", scene)
        self.scenes.clear()

    def _handle_events(self, message):
        if message.status not in set(LaunchReason):
            return
        self.launch_info.reason = reason = LaunchReason(message.status)
        # Requests and notifications follow in separate messages.
        if LaunchReason.LOCATION <= reason <= LaunchReason.SYSTEM:
            self._call("handle_events", self, reason, _content(message.pairs()))

    def _deliver_to_delegate(self, content):
        results = [self._call("open_url", self, context) for context in content.get("urls", [])]
        results += [self._call("continue_activity", self, one) for one in content.get("user_activities", [])]
        if "shortcut_item" in content:
            results.append(self._call("perform_action", self, content["shortcut_item"]))
        if "cloudkit_share_metadata" in content:
            results.append(
                self._call("user_did_accept_cloudkit_share", self, content["cloudkit_share_metadata"]))
        return all(bool(result) for result in results + self._deliver_notification(content))

    def _deliver_notification(self, content):
        """Delivers a notification that has arrived, or the user's answer to one. Returns the results."""
        payload, local = content.get("remote_notification"), content.get("local_notification")
        if "notification_response" in content and hasattr(self.delegate, "did_receive_notification_response"):
            response = NotificationResponse(content["notification_response"], payload or local)
            return [self._call("did_receive_notification_response", self, response)]
        results = []
        if payload is not None:
            results.append(self._call("did_receive_remote_notification", self, payload))
        if local is not None:
            results.append(self._call("did_receive_local_notification", self, local))
        return results

    def _deliver_to_scene(self, scene, content):
        if "urls" in content:
            self._call_of(scene.delegate, "open_urls", scene, content["urls"])
        for activity in content.get("user_activities", []):
            self._call_of(scene.delegate, "continue_activity", scene, activity)
        results = self._deliver_notification(content)
        if "shortcut_item" in content:
            results.append(self._call_of(scene.delegate, "perform_action", scene, content["shortcut_item"]))
        if "cloudkit_share_metadata" in content:
            results.append(
                self._call_of(
                    scene.delegate, "user_did_accept_cloudkit_share", scene, content["cloudkit_share_metadata"]))
        return all(bool(result) for result in results)

    def _run_deferred(self):
        # The launch is over when the app has been told whether it is in the foreground or in the background.
        has_first_state = self._has_had_scene if self._uses_scenes else bool(self._reached)
        if not self._deferred or not has_first_state or self.state == ApplicationState.INACTIVE:
            return False
        self._deferred.pop(0)()
        if not self._deferred:
            self._report_step(_AFTER_LAUNCH)
        return True

    # Saving and restoring, in UIKit's order.

    def _save_state(self):
        if self._channel is None or None in self._extensions:
            return
        if getattr(self.delegate, "should_save_secure_application_state", None) is None:
            return
        coder = StateCoder(self.launch_info.version)
        if not self._call("should_save_secure_application_state", self, coder):
            return self._tell(_SAVE, status=1)
        self._call("will_encode_restorable_state", self, coder)
        for coder._object, restorable in list(self._restorables.items()):
            self._call_of(restorable, "encode_restorable_state", coder)
        self._send_state(coder._fields(), [])

    def _save_scene(self, scene):
        if self._channel is None or scene.session in self._extensions:
            return
        if getattr(scene.delegate, "state_restoration_activity", None) is None:
            return
        activity = self._call_of(scene.delegate, "state_restoration_activity", scene)
        scene.state_restoration_activity = activity
        if activity is None:
            return self._tell(_SAVE, status=1, words=[scene.session])
        self._send_state(_activity_fields(activity), [scene.session])

    def _send_state(self, fields, words):
        size = sum(len(os.fsencode(entry)) + 1 for entry in fields)
        if size > _ARCHIVE_LIMIT:
            self._tell(_SAVE, status=2, words=words, fields=[f"size={size}"])
        else:
            self._tell(_SAVE, words=words, fields=fields)

    def _save_before_end(self):
        """Saves the state of an app that ends in the foreground: it does not pass through the background."""
        if not self._uses_scenes and self._state != ApplicationState.BACKGROUND:
            self._save_state()
        for scene in list(self.scenes.values()):
            if scene._is_in_front():
                self._save_scene(scene)

    def _restore_at_launch(self):
        if not self._launch.flags & _ARCHIVE:
            return
        while True:
            try:
                message = self._channel.receive(waiting=True)
            except EOFError:
                return self._end_channel()
            if message.type == _RESTORE and not message.word(0):
                return self._acknowledge(message.cookie, self._restore(message))
            if not self._is_answered_here(message):
                self._held.append(message)

    def _restore_late(self, message):
        """Restores state that comes after the launch or the connection, because protected data could not be read
        then or the message had no room. Returns whether the app wanted it."""
        session = message.word(0)
        if session is None:
            return not self._uses_scenes and self._restore(message)
        scene = self.scenes.get(session)
        if scene is None or message.status:
            return False
        scene.state_restoration_activity = _restored_activity(message.pairs())
        return self._restore_scene(scene)

    def _restore(self, message):
        if message.status:
            return False
        timestamp = message.word(3)
        coder = StateCoder(message.word(1), int(timestamp) / 1e6 if timestamp else None, _document_of(self._content))
        coder._take(message.fields)
        if not self._call("should_restore_secure_application_state", self, coder):
            return False
        restored = []
        for coder._object in coder._objects():
            restorable = self._restorables.get(coder._object)
            if restorable is None:
                restorable = self._call("object_with_restoration_identifier", self, coder._object, coder)
                if restorable is None:
                    continue
                self._restorables[coder._object] = restorable
            self._call_of(restorable, "decode_restorable_state", coder)
            restored.append(restorable)
        coder._object = ""
        for restorable in restored:
            self._call_of(restorable, "application_finished_restoring_state")
        self._call("did_decode_restorable_state", self, coder)
        return True

    def _restore_scene(self, scene):
        activity = scene.state_restoration_activity
        if activity is None or getattr(scene.delegate, "restore_interaction_state", None) is None:
            return False
        self._call_of(scene.delegate, "restore_interaction_state", scene, activity)
        return True

    def _extend(self, session):
        self._extensions[session] = self._extensions.get(session, 0) + 1
        if self._extensions[session] == 1:
            self._tell(_EXTEND, words=[session] if session else [])

    def _complete(self, session):
        if session not in self._extensions:
            return
        self._extensions[session] -= 1
        if self._extensions[session] == 0:
            del self._extensions[session]
            self._tell(_COMPLETE, words=[session] if session else [])

    # Telling the daemon.

    def _tell(self, type, **message):
        if self._channel:
            self._channel.send(type, **message)

    def _call(self, name, *arguments):
        """Calls a callback of the application's delegate. Returns None if the delegate does not have it."""
        return self._call_of(self.delegate, name, *arguments)

    def _call_of(self, delegate, name, *arguments):
        callback = getattr(delegate, name, None)
        return None if callback is None else self._timed(callback, name, *arguments)

    def _timed(self, callback, name, *arguments):
        began = time.monotonic_ns()
        result = callback(*arguments)
        elapsed = time.monotonic_ns() - began
        if elapsed > _CALLBACK_NANOSECONDS and self._channel:
            self._channel.send(_OVERRAN, cookie=elapsed, words=[name])
        return result

    def _acknowledge(self, cookie, handled=True):
        if self._channel and cookie:
            self._channel.send(_ACKNOWLEDGED, cookie=cookie, status=0 if handled else 1)

    def _report_step(self, step, session=None):
        now = time.monotonic_ns()
        self._reached_at.setdefault(step, now)
        if self._channel:
            self._channel.send(_STEP, cookie=now, status=step, words=[session] if session else [])

    def _report_first(self, step, session=None):
        if step is not None and step not in self._reached:
            self._reached.add(step)
            self._report_step(step, session)

    def _request(self, type, completion, **message):
        """Sends a request. `completion` is called with the reason of a refusal, or None; for a query, with the
        list, or None."""
        if type == _QUERY:
            answered = lambda requests, refusal: completion(None if refusal else requests)  # noqa: E731
        else:
            answered = lambda _, refusal: completion and completion(refusal)  # noqa: E731
        if self._channel is None:
            return answered(None, _ALONE)
        if len(self._requests) >= _REQUEST_LIMIT:
            return answered(None, "too many requests wait for their answers")
        self._request_count += 1
        message["type"] = type
        self._requests[self._request_count] = answered, message
        self._channel.send(cookie=self._request_count, **message)


_ALONE = "Greenroom does not run this app"


def _document_of(content):
    """The file that the user wants to see, or None."""
    return next((one.url for one in content.get("urls", []) if one.url.startswith("file:")), None)


# --- The pause.


def application_main(delegate_class):
    """Waits for the launch, creates the delegate, and runs the app until it ends. Call it once, at the end."""
    application = application_start(delegate_class)
    application.process_events()
    while application._channel:
        select.select([application.fileno()], [], [])
        application.process_events()
    while True:  # Without a daemon there are no more events.
        time.sleep(3600)


def application_start(delegate_class):
    """The same as `application_main` for apps with their own event loop: returns when the app is launched."""
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
            raise SystemExit(0) from None  # The process will no longer be launched.
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
    given = dict(launch.pairs())
    folders = [given.get(name) for name in ("state-directory", "cache-directory", "temporary-directory")]
    info = LaunchInfo(
        reason, bool(launch.flags & _FOREGROUND), is_prewarmed, int(requested), now if is_prewarmed else None,
        time.monotonic_ns(), list(sys.argv), bool(launch.flags & _FIRST_LAUNCH),
        bool(launch.flags & _FIRST_LAUNCH_OF_VERSION), given.get("version"),
        Container(*folders) if all(folders) else None)
    return channel, launch, info, credentials


def _find_channel():
    """Finds the channel. GREENROOM_CHANNEL is "descriptor:inode", so that a variable that was inherited by
    accident is recognized."""
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
    """Makes ^Z work in an app. The kernel stops a process group only if one of its members has a parent in
    another group of the same session (setpgid(2)), and the parent of an app is in another session. So a
    keeper, in its own group, has a child in the app's group. Both do nothing, get no signals, and end with
    the app. No process waits for the keeper."""
    app = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads: no code of modules runs here
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
    """Applies the launch to this process: descriptors, directory, umask, environment, arguments."""
    places = [role for role in go.roles if role >= 0]
    above = max([2, *places]) + 1
    moved = []
    for descriptor in go.descriptors:
        moved.append(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above))
        os.close(descriptor)
    go.descriptors = []
    for role, descriptor in zip(go.roles, moved):
        if role == _DIRECTORY_ROLE:
            if go.flags & _DIRECTORY_BY_NAME:  # in this process's own mounts
                os.chdir(os.readlink(f"/proc/self/fd/{descriptor}"))
            else:
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
    os.environ["ActivePrewarm"] = "1"  # until the launch is over, as on Apple's systems
    # The words after the interpreter's, beginning with this script's name.
    script = sys.argv[0]
    sys.argv[:] = go.words[go.words.index(script):] if script in go.words else [script, *go.words[1:]]
