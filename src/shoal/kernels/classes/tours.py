"""PrimTSP (PTA, Algorithm 1): a loop through all nodes that grows at both of its ends, tried from every start.

Three things keep the cubic work small, and none changes the answer. Every node has the others sorted by distance once; a node
is an end of the loop only once in a try, so a pointer that moves past visited neighbours finds its nearest. Edges still to
come are at least as long as each unvisited node's shortest one, so a try that cannot beat the best any more is left.
"""

import numpy as np

from shoal.kernels import compiler as nb


@nb.njit(cache=True, nogil=True)
def neighbour_lists(distance):
    """Per node the other nodes by distance, equally near ones in their order: a counting sort of each row."""
    n = len(distance)
    neighbours = np.empty((n, max(n - 1, 0)), np.int32)
    farthest = np.int64(0)
    for i in range(n):
        for j in range(i):
            farthest = max(farthest, distance[i, j])
    place = np.empty(farthest + 2, np.int32)
    for i in range(n):
        for d in range(farthest + 2):
            place[d] = 0
        for j in range(n):
            if j != i:
                place[distance[i, j] + 1] += 1
        for d in range(farthest):
            place[d + 1] += place[d]
        for j in range(n):
            if j != i:
                neighbours[i, place[distance[i, j]]] = j
                place[distance[i, j]] += 1
    return neighbours


@nb.njit(cache=True, nogil=True)
def shortest_loop(distance):
    """The shortest of the loops that start at each node, and its length with the closing edge: (loop, length).

    At each step the end called start takes its nearest unvisited node unless the end called destination has a strictly
    nearer one among the others (lines 13 to 15); when a single node is left, both may take it. The first in order wins a
    tie, among nodes and among loops. The loop is written from its first node along the destination's side, so that it comes
    back on the start's side (Figure 5).
    """
    n = len(distance)
    neighbours = neighbour_lists(distance)
    loop = np.zeros(n, np.int32)
    best = np.iinfo(np.int64).max
    shortest_edges = np.int64(0)
    for i in range(n):
        if n > 1:
            shortest_edges += distance[i, neighbours[i, 0]]
    tried = np.empty(n, np.int32)
    visited = np.empty(n, np.bool_)
    for first in range(n):
        for i in range(n):
            visited[i] = False
        visited[first] = True
        tried[0] = first
        start = destination = first
        at_start = at_destination = 0  # how far the two ends have read their neighbours
        ahead, behind = 1, n  # tried[:ahead] is the destination's side, tried[behind:] the start's
        length = np.int64(0)
        to_come = shortest_edges
        if n > 1:
            to_come -= distance[first, neighbours[first, 0]]
        while ahead < behind and length + to_come < best:
            while visited[neighbours[start, at_start]]:
                at_start += 1
            near_start = neighbours[start, at_start]
            while visited[neighbours[destination, at_destination]]:
                at_destination += 1
            near_destination = neighbours[destination, at_destination]
            if near_destination == near_start and ahead + 1 < behind:
                other = at_destination + 1
                while visited[neighbours[destination, other]]:
                    other += 1
                near_destination = neighbours[destination, other]
            if distance[start, near_start] > distance[destination, near_destination]:
                length += distance[destination, near_destination]
                destination = near_destination
                at_destination = 0
                tried[ahead] = destination
                ahead += 1
                node = destination
            else:
                length += distance[start, near_start]
                start = near_start
                at_start = 0
                behind -= 1
                tried[behind] = start
                node = start
            visited[node] = True
            to_come -= distance[node, neighbours[node, 0]]
        length += distance[start, destination]
        if ahead == behind and length < best:
            best = length
            for i in range(n):
                loop[i] = tried[i]
    return loop, best
