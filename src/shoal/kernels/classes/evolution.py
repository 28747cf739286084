"""A loop through all nodes by a genetic algorithm: the permutations of a population are selected by tournament, joined by
order crossover, mutated by turning a stretch around, and the best one always survives.

Random numbers come from SplitMix64, so that a seed means the same loop on every machine and in every version.
"""

import numpy as np

from shoal.kernels import compiler as nb

RIVALS = 3
"""Permutations that a tournament compares."""
CROSSED = 90
"""In how many of 100 cases a child has two parents; else it begins as a copy of one."""
MUTATED = 20
"""In how many of 100 cases a stretch of the child is turned around."""


@nb.njit(cache=True, nogil=True)
def draw(state, n):
    """A number from 0 to n - 1 (n below 2^31); moves the state on."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64(((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@nb.njit(cache=True, nogil=True)
def loop_length(distance, loop):
    """All edges, the closing one among them."""
    length = np.int64(0)
    for i in range(len(loop)):
        length += distance[loop[i], loop[i - 1]]
    return length


@nb.njit(cache=True, nogil=True)
def cross(one, other, low, high, inside, child):
    """Order crossover: child[low:high] from one parent, the rest in the other's order, both read on from `high` around."""
    n = len(one)
    for i in range(n):
        inside[i] = False
    for i in range(low, high):
        child[i] = one[i]
        inside[one[i]] = True
    at = high % n
    for step in range(n):
        node = other[(high + step) % n]
        if not inside[node]:
            child[at] = node
            at = (at + 1) % n


@nb.step
def fittest(lengths, state):
    """The shortest of a few loops drawn at random."""
    best = draw(state, len(lengths))
    for _ in range(RIVALS - 1):
        rival = draw(state, len(lengths))
        if lengths[rival] < lengths[best]:
            best = rival
    return best


@nb.njit(cache=True, nogil=True)
def evolved_loop(distance, population, generations, seed):
    """The shortest loop after so many generations, and its length: (loop, length)."""
    n = len(distance)
    state = np.empty(1, np.uint64)
    state[0] = seed
    parents = np.empty((population, n), np.int32)
    children = np.empty((population, n), np.int32)
    lengths = np.empty(population, np.int64)
    new_lengths = np.empty(population, np.int64)
    inside = np.empty(n, np.bool_)
    for one in range(population):
        for i in range(n):
            # Each new node changes places with one before it: a uniform shuffle.
            j = draw(state, i + 1)
            parents[one, i] = parents[one, j]
            parents[one, j] = i
        lengths[one] = loop_length(distance, parents[one])
    for generation in range(generations + 1):
        best = 0
        for one in range(1, population):
            if lengths[one] < lengths[best]:
                best = one
        if generation == generations or n < 4:  # up to three nodes have one loop only
            break
        for i in range(n):
            children[0, i] = parents[best, i]
        new_lengths[0] = lengths[best]
        for one in range(1, population):
            child = children[one]
            mother = parents[fittest(lengths, state)]
            low, high = draw(state, n), draw(state, n) + 1
            if low >= high:
                low, high = high - 1, low + 1
            if draw(state, 100) < CROSSED:
                cross(mother, parents[fittest(lengths, state)], low, high, inside, child)
            else:
                for i in range(n):
                    child[i] = mother[i]
            if draw(state, 100) < MUTATED:
                low, high = draw(state, n), draw(state, n)
                if low > high:
                    low, high = high, low
                while low < high:
                    child[low], child[high] = child[high], child[low]
                    low += 1
                    high -= 1
            new_lengths[one] = loop_length(distance, child)
        parents, children = children, parents
        lengths, new_lengths = new_lengths, lengths
    return parents[best].copy(), lengths[best]
