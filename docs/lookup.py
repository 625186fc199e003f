"""A look-up in Python, written from protocol.md alone, with nothing but the standard library.

    python3 lookup.py HOST PORT POOL KEY [DIRECTORY]

With the files of `leasehold token export` in DIRECTORY it speaks TLS.

It stays connected to one Manager, prints who owns the key whenever its table has changed, and what was
lost. It is for reading: one Manager, and no connecting again.
"""

import json
import os
import re
import socket
import ssl
import struct
import sys
import time

RING = 1 << 64
SYNC_EVERY, RETRY, STALE_AFTER, HEARTBEAT_EVERY = 10.0, 0.5, 30.0, 10.0
LONGEST_FRAME = 64 * 1024 * 1024


# 1. Connection.

def connect(host, port, pool, directory):
    plain = socket.create_connection((host, port), timeout=5)
    if directory is None:
        return plain
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # The issuer is compared, below.
    context.load_verify_locations(os.path.join(directory, "ca.pem"))
    context.load_cert_chain(os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem"))
    context.set_alpn_protocols(["leasehold/1"])
    secure = context.wrap_socket(plain)
    if secure.selected_alpn_protocol() != "leasehold/1" or not may_be_manager(secure.getpeercert()["issuer"], pool):
        raise ConnectionError(f"{host}:{port} is no Manager of {pool}")
    return secure


def may_be_manager(issuer, pool):
    """The cluster needs no look: OpenSSL trusts one root, which signs for one cluster."""
    if [[key for key, _ in part] for part in issuer] != [["organizationName"], ["serialNumber"], ["commonName"]]:
        return False
    (_, serial), (_, name) = issuer[1][0], issuer[2][0]
    if not re.fullmatch("[0-9a-f]{16}\\.(0|[1-9a-f][0-9a-f]{0,7})", serial) or not name.startswith("leasehold-grant:"):
        return False
    wanted = "".join(chr(byte) if re.match(b"[a-z0-9._-]", bytes([byte])) else f"%{byte:02x}" for byte in pool.encode())
    for grant in name[len("leasehold-grant:"):].split("|"):
        role, _, rest = grant.partition(":")
        module, instance = (rest.split("/") + ["*"])[:2]
        if role == "server" and covers(module, "pool") and covers(instance, wanted):
            return True
    return False


def covers(part, value):
    return value.startswith(part[:-1]) if part.endswith("*") else value == part

class Frames:
    def __init__(self, connected):
        self.socket = connected
        self.received = b""

    def send(self, frame):
        self.socket.sendall(struct.pack(">I", len(frame)) + frame)

    def receive(self, timeout):
        """The next frame; None if there is none in time. A heartbeat is an empty one."""
        deadline = time.monotonic() + timeout
        while True:
            if len(self.received) >= 4:
                (length,) = struct.unpack(">I", self.received[:4])
                if length > LONGEST_FRAME:
                    raise ValueError("frame too long")
                if len(self.received) >= 4 + length:
                    frame, self.received = self.received[4:4 + length], self.received[4 + length:]
                    return frame
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            try:
                chunk = self.socket.recv(65536)
            except TimeoutError:
                return None
            if not chunk:
                raise EOFError("the Manager has closed the connection")
            self.received += chunk


# 2. As much of MessagePack as the messages need.

def pack(value):
    if isinstance(value, dict):
        return bytes([0x80 | len(value)]) + b"".join(pack(key) + pack(item) for key, item in value.items())
    if isinstance(value, str):
        text = value.encode()
        return (bytes([0xA0 | len(text)]) if len(text) < 32 else struct.pack(">BH", 0xDA, len(text))) + text
    return bytes([value]) if value < 128 else struct.pack(">BQ", 0xCF, value)


NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
           0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
LENGTHS = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xDE: ">H", 0xDF: ">I"}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        if length > len(self.data) - self.at:
            raise ValueError("ends too early")
        self.at += length
        return self.data[self.at - length:self.at]

    def fixed(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self, depth=2):
        kind = self.fixed(">B")
        if kind < 0x80:
            return kind
        if kind >= 0xE0:
            return kind - 0x100
        if kind in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[kind]
        if kind in NUMBERS:
            return self.fixed(NUMBERS[kind])
        if kind < 0x90 or kind in (0xDE, 0xDF):
            if depth == 0:
                raise ValueError("too deep")
            count = kind & 0x0F if kind < 0x90 else self.fixed(LENGTHS[kind])
            entries = {}
            for _ in range(count):
                key = self.value(0)
                if not isinstance(key, str) or key in entries:
                    raise ValueError("not a key")
                entries[key] = self.value(depth - 1)
            return entries
        if 0xA0 <= kind < 0xC0:
            return self.take(kind & 0x1F).decode()
        if kind in LENGTHS:
            data = self.take(self.fixed(LENGTHS[kind]))
            return data if kind < 0xD0 else data.decode()
        raise ValueError(f"type {kind:02x}")

    # 3. Packed lists.

    def varint(self):
        value, shift = 0, 0
        while True:
            byte = self.fixed(">B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def rows(self):
        owners = [[self.take(self.varint()).decode() for _ in range(3)] for _ in range(self.varint())]
        rows, at = [], 0
        for _ in range(self.varint()):
            head = self.varint()
            start = self.fixed(">Q") if head & 1 else at
            end = self.fixed(">Q") or RING
            if not at <= start < end:
                raise ValueError("spans out of order")
            owner = owners[(head >> 1) - 1] if head >> 1 else None
            rows.append({"start": start, "end": end, "owner": owner, "number": self.varint(), "lostAt": self.varint()})
            at = end
        return rows

    def whole(self, read):
        value = read(self)
        if self.at != len(self.data):
            raise ValueError("bytes too many")
        return value


# 4. Keys and positions.

def position_of(key):
    first = key.find("{")
    last = key.find("}", first) if first >= 0 else -1
    data = (key[first + 1:last] if last > first + 1 else key).encode()
    mask = 0xFFFFFFFF
    c = [0x239B961B, 0xAB0E9789, 0x38B34AE5, 0xA1E38B93]
    added = [0x561CCD1B, 0x0BCAA747, 0x96CD1C35, 0x32AC3B17]

    def rot(word, bits):
        return (word << bits | word >> (32 - bits)) & mask

    def mix(h):
        h = (h ^ h >> 16) * 0x85EBCA6B & mask
        h = (h ^ h >> 13) * 0xC2B2AE35 & mask
        return h ^ h >> 16

    h = [0, 0, 0, 0]
    for at in range(0, len(data), 16):
        block = data[at:at + 16]
        words = struct.unpack("<4I", block.ljust(16, b"\0"))
        for i in range(4):
            h[i] ^= rot(words[i] * c[i] & mask, 15 + i) * c[(i + 1) % 4] & mask
            if len(block) == 16:
                h[i] = ((rot(h[i], 19 - 2 * i) + h[(i + 1) % 4]) * 5 + added[i]) & mask
    h = [word ^ len(data) for word in h]
    h[0] = sum(h) & mask
    h = [h[0]] + [(word + h[0]) & mask for word in h[1:]]
    h = [mix(word) for word in h]
    h[0] = sum(h) & mask
    return h[0] << 32 | (h[1] + h[0]) & mask


# 6. What a look-up must do.

class Lookup:
    def __init__(self, frames, pool, key):
        self.frames, self.pool, self.key = frames, pool, key
        self.id = os.urandom(16).hex()
        self.table, self.seen, self.left = None, None, set()
        self.sequence, self.sent = 0, {}
        self.assured = time.monotonic()
        self.next_sync = self.assured

    def run(self):
        self.frames.send(pack({"protocol": "leasehold-pool", "version": 3, "oldest": 3, "role": "lookup"}))
        welcome = Reader(self.frames.receive(5) or b"").whole(Reader.value)
        if "error" in welcome:
            raise ConnectionError(welcome["error"]["message"])
        say("welcome", version=welcome["version"])
        spoke = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= self.assured + STALE_AFTER:
                self.assured = now
                say("lost", everything=True)
            if now >= self.next_sync:
                self.sync(now)
                spoke = now
            if now >= spoke + HEARTBEAT_EVERY:
                self.frames.send(b"")
                spoke = now
            frame = self.frames.receive(max(0.01, self.next_sync - time.monotonic()))
            if frame:
                message = Reader(frame).whole(Reader.value)
                if message["k"] == "refused":
                    raise ConnectionError(message["m"])
                if message["k"] == "changes" and message["p"] == self.pool:
                    self.changes(message, time.monotonic())

    def sync(self, now):
        self.sequence += 1
        self.sent[self.sequence] = now
        self.next_sync = now + RETRY
        message = {"k": "sync", "p": self.pool, "lk": self.id, "s": self.sequence}
        if self.table is not None:
            history, term, position, stamp = self.seen
            message["sn"] = {"hi": history, "t": term, "at": position, **({"sta": stamp} if stamp else {})}
        self.frames.send(pack(message))

    def changes(self, message, now):
        history, term, start, to = message["hi"], message["t"], message["fr"], message["to"]
        here = (history, term, to, message.get("sta"))
        answers = message.get("an") or {}
        answered = answers.get("s") if answers.get("lk") == self.id and answers.get("s") in self.sent else None
        if history in self.left:
            return
        if self.seen and history != self.seen[0]:
            if answered is None:
                return self.sync(now)
            self.left.add(self.seen[0])
            self.seen, self.table = here, None
            say("lost", everything=True)
        if self.seen and term < self.seen[1]:
            return
        position = self.seen[2] if self.seen else None
        if start != 0 and (self.table is None or start > position):
            return self.sync(now)
        if self.table is None or to > position:
            self.advance(start, Reader(message["r"]).whole(Reader.rows), position)
            self.seen = here
            say("at", position=to, rows=len(self.table), **self.find())
        if answered is not None:
            self.assured = max(self.assured, self.sent[answered])
            self.sent = {sequence: at for sequence, at in self.sent.items() if sequence > answered}
            self.next_sync = now + SYNC_EVERY

    def advance(self, start, rows, position):
        if start == 0:
            if [row["start"] for row in rows] + [RING] != [0] + [row["end"] for row in rows]:
                raise ValueError("not the whole ring")
            self.table = rows
        else:
            for row in rows:
                outside = []
                for old in self.table:
                    outside += [dict(old, start=low, end=high)
                                for low, high in ((old["start"], min(old["end"], row["start"])),
                                                  (max(old["start"], row["end"]), old["end"])) if low < high]
                self.table = sorted(outside + [row], key=lambda each: each["start"])
        for row in rows:
            if position is not None and row["lostAt"] > position:
                say("lost", start=f"{row['start']:016x}", end=f"{row['end'] % RING:016x}")

    def find(self):
        position = position_of(self.key)
        row = next(row for row in self.table if row["start"] <= position < row["end"])
        return {"key": f"{position:016x}", "url": row["owner"][2] if row["owner"] else None, "number": row["number"]}


def say(what, **more):
    print(json.dumps({"what": what, **more}), flush=True)


if __name__ == "__main__":
    _, host, port, pool, key, *directory = sys.argv
    connected = connect(host, int(port), pool, directory[0] if directory else None)
    Lookup(Frames(connected), pool, key).run()
