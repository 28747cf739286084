"""What a class loses under its majority centre, kept up to date as rows join and leave.

A class of s rows in which c have an item loses min(c, s - c) for it. When a row joins, the items it has change their
count by one, and everything else changes only through s: majority items that the row lacks lose one more. How many
items have each count is kept beside the counts, so a step costs the length of the row, not the number of items.

A joining row costs its distance to the centre, where items that exactly half of the class has cost nothing; a leaving
row saves the same, and one for each such item.
"""

from shoal.kernels import compiler as nb


@nb.njit(cache=True, nogil=True)
def join_row(offsets, items, row, count, having, c, size, loss, major):
    """(loss, majority items) of class c after the row joins its `size` rows.

    count[c, x] rows of the class have item x, and having[c, y] items are held by y rows, y > 0.
    """
    loss += major
    if size % 2 == 1:
        major -= having[c, (size + 1) // 2]
    for p in range(offsets[row], offsets[row + 1]):
        x = items[p]
        y = count[c, x]
        count[c, x] = y + 1
        having[c, y] -= 1
        having[c, y + 1] += 1
        # The first line charged every majority item; the row has this one.
        if 2 * y > size:
            loss -= 1
            if 2 * y == size + 1:
                major += 1
        elif 2 * y == size:
            major += 1
        else:
            loss += 1
    return loss, major


@nb.njit(cache=True, nogil=True)
def leave_row(offsets, items, row, count, having, c, size, loss, major):
    """(loss, majority items) of class c after the row leaves its `size` rows: `joined` backwards."""
    size -= 1
    for p in range(offsets[row], offsets[row + 1]):
        x = items[p]
        y = count[c, x] - 1
        count[c, x] = y
        having[c, y + 1] -= 1
        having[c, y] += 1
        if 2 * y > size:
            loss += 1
            if 2 * y == size + 1:
                major -= 1
        elif 2 * y == size:
            major -= 1
        else:
            loss -= 1
    if size % 2 == 1:
        major += having[c, (size + 1) // 2]
    loss -= major
    return loss, major
