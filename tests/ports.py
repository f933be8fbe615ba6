"""Free ports, for servers whose address must be known before they listen, or stay the same when they start again."""

import random
import socket

# Below those that systems give to whoever names none, where one could be taken meanwhile; Ray's workers use 10,002 on.
_CHOICE = range(20_000, 32_768)


def free_ports(n: int) -> list[int]:
    """Return so many ports at which nobody listens."""
    tried: list[socket.socket] = []
    try:
        for port in random.SystemRandom().sample(_CHOICE, 1000):
            tried.append(socket.socket())
            try:
                tried[-1].bind(("127.0.0.1", port))
            except OSError:
                tried.pop().close()
            if len(tried) == n:
                break
        return [int(bound.getsockname()[1]) for bound in tried]
    finally:
        for bound in tried:
            bound.close()


def free_port() -> int:
    return free_ports(1)[0]
