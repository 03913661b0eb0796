"""What processes do besides what they were started for: three views of one tree of processes.

    proc        the kernel's process connector: processes started, programs executed
    files       fanotify on every file system: made, written, renamed, removed, chmod
    calls       system calls by tracefs: sockets, signals, processes and folders, also those that failed

A process is "under" the root that is watched when it is one of its children (a prewarmed instance is a
child of the spawner) or theirs. What a child does before it has executed its program is the root's
business and is not counted. Each view may be missing on a machine; `missing` says which, and why. All are in a
container: they number processes as the first pid namespace does.
"""
import ctypes
import glob
import os
import re
import socket
import struct
import subprocess

LIBC = ctypes.CDLL(None, use_errno=True)
# --- fanotify(7)
FAN_INIT = 0x200 | 0x400 | 0x800 | 0x10 | 0x1 | 0x2  # report folder, name and file, unlimited queue, nonblocking
FAN_ADD_FILESYSTEM = 0x1 | 0x100
FAN_EVENTS = {0x2: "wrote", 0x4: "chmod", 0x40: "renamed", 0x80: "renamed to", 0x100: "made", 0x200: "removed"}
FAN_ON_FOLDERS = 0x40000000
# The first pid namespace (PROC_PID_INIT_INO of the kernel).
FIRST_NAMESPACE = "pid:[4026531836]"
FILE_SYSTEMS = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "overlay"}
# --- System calls. A socket that is only made is not a misfire by itself (a library asks for interface
# names); what is said on one is, and so is every attempt to start, signal, make or remove something.
CALLS = ("connect bind listen accept4 kill tkill tgkill fork vfork execve execveat mkdir mkdirat rmdir rename "
         "renameat renameat2 unlink unlinkat symlink symlinkat link linkat mknod mknodat truncate chmod fchmod "
         "fchmodat chown fchown lchown fchownat mount umount sendto sendmsg sendmmsg socket ptrace setsid").split()


class Watch:
    def __init__(self, folder, views=("proc", "files", "calls")):
        self.tracing = folder + "/tracing"
        self.missing = {}
        self.parents = {}  # the parent of each process, from fork events
        self.groups = {}  # the process of each thread
        self.executed = {}  # the programs that each process has executed
        self.traced_execs = {}
        self.lost = {}  # for each view, why some events were not seen
        self.root = None
        self.pending = []  # (process, view, what), not queried yet
        for view in views:
            try:
                if os.readlink("/proc/self/ns/pid") != FIRST_NAMESPACE:
                    raise OSError("this is not the first pid namespace")
                getattr(self, "_open_" + view)()
            except OSError as error:
                self.missing[view] = str(error)
        self.views = [view for view in views if view not in self.missing]

    # --- proc
    def _open_proc(self):
        self.connector = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK, 11)
        try:
            self.connector.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
        except OSError:
            pass
        self.connector.bind((0, 1))
        body = struct.pack("=IIIIHHI", 1, 1, 0, 0, 4, 0, 1)  # PROC_CN_MCAST_LISTEN
        self.connector.send(struct.pack("=IHHII", 16 + len(body), 3, 0, 0, os.getpid()) + body)

    def _read_proc(self):
        while True:
            try:
                message = self.connector.recv(4096)
            except BlockingIOError:
                return
            except OSError as error:  # ENOBUFS: some are lost
                self.lost["proc"] = f"events were lost: {error}"
                continue
            what, = struct.unpack_from("=I", message, 36)
            if what == 1:  # fork
                _, parent, child, group = struct.unpack_from("=iiii", message, 52)
                self.groups[child] = group
                if child == group:
                    self.parents[child] = parent
                    if self._depth(child) > 1:
                        self._note(parent, "proc", f"started a process ({child})")
            elif what == 2:  # exec
                _, process = struct.unpack_from("=ii", message, 52)
                if self._depth(process) < 1:
                    continue
                self.executed[process] = self.executed.get(process, 0) + 1
                if self.executed[process] > 1 or self._depth(process) > 1:
                    self._note(process, "proc", f"executed {self._program(process)}")

    @staticmethod
    def _program(process):
        try:
            return os.readlink(f"/proc/{process}/exe")
        except OSError:
            return "a program that has ended"

    # --- files
    def _open_files(self):
        LIBC.fanotify_init.argtypes = [ctypes.c_uint, ctypes.c_uint]
        LIBC.fanotify_mark.argtypes = [ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p]
        self.fanotify = LIBC.fanotify_init(FAN_INIT, os.O_RDONLY | os.O_CLOEXEC)
        if self.fanotify < 0:
            raise OSError(ctypes.get_errno(), "fanotify_init: " + os.strerror(ctypes.get_errno()))
        marked = set()
        with open("/proc/self/mounts") as mounts:
            places = [line.split()[1:3] for line in mounts]
        for place, kind in places:
            try:
                device = os.stat(place).st_dev
            except OSError:
                continue
            if kind not in FILE_SYSTEMS or device in marked:
                continue
            mask = sum(FAN_EVENTS) | FAN_ON_FOLDERS
            if LIBC.fanotify_mark(self.fanotify, FAN_ADD_FILESYSTEM, mask, -100, os.fsencode(place)) == 0:
                marked.add(device)
        if not marked:
            raise OSError(ctypes.get_errno(), "fanotify_mark: no file system takes a mark")

    def _read_files(self):
        while True:
            try:
                buffer = os.read(self.fanotify, 1 << 18)
            except BlockingIOError:
                return
            at = 0
            while at < len(buffer):
                length, _, _, header, mask, _, process = struct.unpack_from("=IBBHQii", buffer, at)
                if process in self.parents:
                    name = self._name(buffer, at + header, at + length)
                    for bit, word in FAN_EVENTS.items():
                        if mask & bit:
                            self._note(process, "files", f"{word} {name}")
                at += length

    @staticmethod
    def _name(buffer, at, end):
        while at + 20 <= end:
            kind, _, length = struct.unpack_from("=BBH", buffer, at)
            if kind == 2:  # FAN_EVENT_INFO_TYPE_DFID_NAME
                handle, = struct.unpack_from("=I", buffer, at + 12)
                return os.fsdecode(buffer[at + 20 + handle:at + length].split(b"\0")[0])
            at += max(length, 4)
        return "?"

    # --- calls
    def _open_calls(self):
        os.mkdir(self.tracing)
        if subprocess.run(["mount", "-t", "tracefs", "tracefs", self.tracing], capture_output=True).returncode != 0:
            os.rmdir(self.tracing)
            raise OSError(0, "tracefs cannot be mounted")
        self.instance = f"{self.tracing}/instances/greenroom-corpus-{os.getpid()}"
        self.trace = None
        try:
            if not glob.glob(self.tracing + "/events/syscalls/sys_enter_*"):
                raise OSError(0, "the kernel traces no system calls")
            os.mkdir(self.instance)
            self._set("buffer_size_kb", "4096")
            self._set("options/event-fork", "1")
            self._set("set_event_pid", str(2 ** 22 - 1))  # no process yet
            for call in CALLS:
                if os.path.exists(f"{self.instance}/events/syscalls/sys_enter_{call}"):
                    self._set(f"events/syscalls/sys_enter_{call}/enable", "1")
            self._set("events/sched/sched_process_exec/enable", "1")
            self.trace = os.open(self.instance + "/trace_pipe", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._close_calls()
            raise

    def _set(self, file, text):
        with open(f"{self.instance}/{file}", "w") as handle:
            handle.write(text)

    def _close_calls(self):
        if self.trace is not None:
            os.close(self.trace)
            self.trace = None
        if os.path.isdir(self.instance):
            os.rmdir(self.instance)
        subprocess.run(["umount", self.tracing], capture_output=True)
        os.rmdir(self.tracing)

    LINE = re.compile(r"-(\d+)\s+\[\d+\].*?: (sys_(\w+)\((.*)\)?|sched_process_exec: .*)\s*$")

    def _read_calls(self):
        text = b""
        while True:
            try:
                part = os.read(self.trace, 1 << 16)
            except BlockingIOError:
                break
            if not part:
                break
            text += part
        for line in text.decode(errors="replace").split("\n"):
            if "LOST" in line and "EVENTS" in line:
                self.lost["calls"] = "events were lost"
            match = self.LINE.search(line)
            if not match:
                continue
            thread, call, words = int(match[1]), match[3], match[4] or ""
            process = self.groups.get(thread, thread)
            if call is None:
                self.traced_execs[process] = self.traced_execs.get(process, 0) + 1
            # Before its exec, the process does what the spawner wants. Later, the shim reports the
            # pause.
            elif self.traced_execs.get(process, 0) > 0 or self._depth(process) > 1:
                self._note(process, "calls", f"{call}({words.rstrip(')')})")

    # --- all
    def _depth(self, process):
        if self.root is None:
            return 0
        depth = 0
        while process != self.root:
            process = self.parents.get(process)
            if process is None or depth > 20:
                return 0
            depth += 1
        return depth

    def _note(self, process, view, what):
        if self._depth(process) > 0:
            self.pending.append((process, view, what))

    def follow(self, root):
        """Everything that `root` starts from now on; None: nothing."""
        self.root = None
        if "calls" in self.views:
            self._set("set_event_pid", str(root or 2 ** 22 - 1))
        self.drain()
        for table in (self.parents, self.groups, self.executed, self.traced_execs, self.lost):
            table.clear()
        self.root = root

    def instance_of(self, process):
        """The child of the root that the process is, or descends from."""
        while self.parents.get(process) not in (self.root, None):
            process = self.parents[process]
        return process

    def drain(self):
        """What was seen since the last time: (instance, view, what)."""
        for view in self.views:
            getattr(self, "_read_" + view)()
        found, self.pending = self.pending, []
        return [(self.instance_of(process), view, what) for process, view, what in found]

    def close(self):
        if "proc" in self.views:
            self.connector.close()
        if "files" in self.views:
            os.close(self.fanotify)
        if "calls" in self.views:
            self._close_calls()
        self.views = []


# --- The paused process itself, as /proc shows it.
RECVMSG = {"x86_64": 47, "aarch64": 212}[os.uname().machine]


def _read(path):
    with open(path) as file:
        return file.read()


def paused_state(process):
    """(what it is blocked in, processor time in ticks, children, threads, descriptors)"""
    try:
        call = _read(f"/proc/{process}/syscall").split()[0]
        fields = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
        children = "".join(_read(path) for path in glob.glob(f"/proc/{process}/task/*/children")).split()
        descriptors = {}
        for number in os.listdir(f"/proc/{process}/fd"):
            descriptors[int(number)] = os.readlink(f"/proc/{process}/fd/{number}")
    except OSError:
        return None
    return call, int(fields[11]) + int(fields[12]), children, int(fields[17]), descriptors


def is_at_work(first, second):
    """Whether a library's thread may be what used processor time: OpenBLAS's spin for 2^26 cycles, then rest."""
    return bool(first and second) and second[3] > 1 and second[1] - first[1] > 1


def state_faults(first, second):
    """What a paused process must not be, from two looks at it."""
    if first is None or second is None:
        return ["ended while it was paused"]
    faults = []
    if second[0] != str(RECVMSG):
        faults.append("not blocked in the shim's receive (" + (f"system call {second[0]}" if second[0] != "running" else "running") + ")")
    if second[1] - first[1] > 1:
        faults.append(f"used {second[1] - first[1]} ticks of processor time while paused")
    if second[2]:
        faults.append(f"has children: {' '.join(second[2])}")
    sockets = [number for number, target in second[4].items() if number > 2 and target.startswith("socket:")]
    if len(sockets) > 1:
        faults.append(f"has {len(sockets) - 1} sockets besides its channel")
    return faults
