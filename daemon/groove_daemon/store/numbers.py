"""Numbers of a file's stat as SQLite keeps them: 64 signed bits, and decimal text for what does not fit.

Inode numbers have 64 unsigned bits, and times far in the future do not fit either.  Text sorts after all integers, so
such a time still counts as later than any other.
"""

from groove_daemon.domain.document import FileStat

StatNumber = int | str

_LIMIT = 2**63


def to_number(value: int) -> StatNumber:
    """The stored form."""
    return value if -_LIMIT <= value < _LIMIT else str(value)


def stat_values(stat: FileStat) -> tuple[StatNumber, StatNumber, StatNumber, StatNumber]:
    """The stored form of `size_bytes, mtime_ns, ctime_ns, inode`."""
    return to_number(stat.size_bytes), to_number(stat.mtime_ns), to_number(stat.ctime_ns), to_number(stat.inode)


def to_stat(size_bytes: StatNumber, mtime_ns: StatNumber, ctime_ns: StatNumber, inode: StatNumber) -> FileStat:
    """Back from the stored form."""
    return FileStat(int(size_bytes), int(mtime_ns), int(ctime_ns), int(inode))
