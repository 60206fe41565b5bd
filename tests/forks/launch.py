"""Stands in for a command that was forked elsewhere: gives it the own streams, and ends as it does.

Started without the usual imports, and imports next to nothing: it is there in ten milliseconds.
"""

import _socket
import marshal
import os
import signal
import sys


def main(address, pid_file, *arguments):
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    line.connect(address)
    order = marshal.dumps((list(arguments), os.getcwd(), dict(os.environ), pid_file, False, "wfc.__main__"))
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    line.sendmsg([order], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    pid = int(line.recv(64))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda given, _: os.kill(pid, given))
    for stream in (0, 1, 2):
        # The server alone holds them: whoever reads or writes at the other end sees when it has gone.
        os.close(stream)
    status = int(line.recv(64))
    if status < 0:
        if status != -signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main(*sys.argv[1:])
