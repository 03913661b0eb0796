"""Which programs there are, and which are better not run."""
import os
import random
import re
import struct

# With an option, these programs may do their job to the machine or to this run. They are prewarmed, and
# watched in the meantime, but they are not run. One line each: a pattern of the name, and the reason.
NOT_RUN = [(re.compile(pattern), reason) for pattern, reason in (
    (r"(halt|poweroff|reboot|shutdown|telinit|init|runit-init|systemd|systemd-(shutdown|sleep|executor))$",
     "ends or starts a machine"),
    (r"(killall5|fuser|slay|skill|snice)$", "signals every process"),
    (r"(mk(e2|dos)?fs.*|mkswap|mkntfs|wipefs|shred|blkdiscard|sgdisk|s?c?fdisk|parted|partprobe|hdparm|badblocks)$",
     "writes to disks"),
    (r"(greenroom.*)$", "is Greenroom itself"),
    (r"(forkbomb|stress|stress-ng)$", "takes the whole machine"),
    (r"(apt-daily.*|unattended-upgrade.*|dpkg-reconfigure|update-initramfs|update-grub.*)$", "changes the system"),
    (r"(sleep|pause|yes)$|.*-(daemon|server)-wait$", "does not end, or writes for ever"),
)]


def reason_not_to_run(path):
    name = os.path.basename(path)
    for pattern, reason in NOT_RUN:
        if pattern.fullmatch(name):
            return reason
    return None


def kind(path):
    """"elf", "script", or None for what is not a program: a library that is executable, say."""
    try:
        with open(path, "rb") as file:
            start = file.read(4096)
            if start.startswith(b"#!"):
                return "script"
            if start[:4] != b"\x7fELF" or len(start) < 64:
                return None
            if start[4] != 2:
                return "elf"  # 32-bit programs are refused, and the result must show that
            order = "<" if start[5] == 1 else ">"
            file_type, = struct.unpack_from(order + "H", start, 16)
            offset, = struct.unpack_from(order + "Q", start, 32)
            size, count = struct.unpack_from(order + "HH", start, 54)
            if file_type == 2:
                return "elf"
            if file_type != 3:
                return None
            file.seek(offset)
            headers = file.read(size * count)
            for index in range(count):
                part, _, place, _, _, length = struct.unpack_from(order + "IIQQQQ", headers, index * size)
                if part == 3:  # PT_INTERP
                    return "elf"
                if part == 2:  # PT_DYNAMIC: a static PIE says so
                    file.seek(place)
                    entries = file.read(min(length, 1 << 16))
                    for tag, value in struct.iter_unpack(order + "QQ", entries[:len(entries) // 16 * 16]):
                        if tag == 0x6ffffffb and value & 0x08000000:  # DF_1_PIE
                            return "elf"
    except (OSError, struct.error):
        return None
    return None


def is_dynamic(path):
    """Whether an ELF program of 64 bits asks for the dynamic linker (PT_INTERP)."""
    with open(path, "rb") as file:
        start = file.read(64)
        order = "<" if start[5] == 1 else ">"
        offset, = struct.unpack_from(order + "Q", start, 32)
        size, count = struct.unpack_from(order + "HH", start, 54)
        file.seek(offset)
        headers = file.read(size * count)
    return any(struct.unpack_from(order + "I", headers, index * size)[0] == 3 for index in range(count))


def goes_through_env(path):
    """Whether a script's interpreter is looked up by env, which is let do so while it is prewarmed."""
    try:
        with open(path, "rb") as file:
            return re.match(rb"#![ \t]*(/usr)?/bin/env[ \t]", file.read(256)) is not None
    except OSError:
        return False


def is_public(path):
    """Whether the user that the programs run as may execute it."""
    try:
        if not os.stat(path).st_mode & 0o001:
            return False
        while path != "/":
            path = os.path.dirname(path)
            if not os.stat(path).st_mode & 0o001:
                return False
    except OSError:
        return False
    return True


def every(folders=None):
    """Every program below the folders: of PATH, /usr/lib and /usr/libexec, by its name in its real folder."""
    if folders is None:
        search = os.environ.get("PATH", "/usr/bin:/bin").split(":") + ["/usr/sbin", "/usr/bin", "/usr/games"]
        folders = [(folder, False) for folder in search] + [("/usr/lib", True), ("/usr/libexec", True)]
    else:
        folders = [(folder, True) for folder in folders]
    found = {}
    for folder, is_deep in folders:
        folder = os.path.realpath(folder)
        walk = os.walk(folder) if is_deep else [(folder, [], sorted(os.listdir(folder)) if os.path.isdir(folder) else [])]
        for place, _, names in walk:
            for name in names:
                path = f"{place}/{name}"
                if path in found or re.search(r"\.so(\.|$)", name):
                    continue
                # A manifest is text, so a name that is not text cannot be written into one.
                if not is_public(path):
                    continue
                if not os.path.isfile(path) or not path.isprintable() or " " in path or "%" in path:
                    continue
                what = kind(path)
                if what:
                    found[path] = what
    return found


def sample(programs, limit, seed):
    paths = sorted(programs)
    if not limit or limit >= len(paths):
        return paths
    return sorted(random.Random(seed).sample(paths, limit))
