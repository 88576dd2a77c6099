"""Fragment layouts: their text, and the elements of each thread."""

import numpy as np


class Layout:
    """Returns the modes (size, rows, columns) of threads and of values, lowest mode first."""

    def __init__(self, threads, values):
        self.threads, self.values = threads, values

    def __str__(self):
        def mode(size, rows, columns):
            return f"{size}: {rows} rows" if rows else f"{size}: {columns} columns"
        lists = (", ".join(mode(*d) for d in part) for part in (self.threads, self.values))
        return "#mxgpu.fragment_layout<threads = [{}], values = [{}]>".format(*lists)

    @staticmethod
    def places(modes):
        """Returns the row and column of each number."""
        rows, columns = np.zeros(1, int), np.zeros(1, int)
        for size, row, column in modes:
            i = np.arange(size)[:, None]
            rows, columns = (i * row + rows).ravel(), (i * column + columns).ravel()
        return rows, columns

    def coordinates(self):
        """Returns the rows and columns of all elements, indexed by thread and value."""
        (r0, c0), (r1, c1) = self.places(self.threads), self.places(self.values)
        return r0[:, None] + r1, c0[:, None] + c1

    def count(self):
        return len(self.places(self.threads)[0])
