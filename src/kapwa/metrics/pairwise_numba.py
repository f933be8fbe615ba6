"""Edit distances of one text to 32 texts at once: Myers' bit-parallel algorithm, a pattern in each SIMD lane.

The rows of the edit matrix of 32 patterns are cut into words of 32 bits, so that one vector holds the same word of
all patterns. A column step is a dozen vector instructions whatever the texts say (Myers 1999, with the horizontal
carry between words of Hyyrö 2003). The step is written in LLVM's own vector types, because a loop over lanes keeps
its state in memory and takes over twice as long; LLVM lowers the vectors to whatever the machine has.

Imports numba (the extra ``fast``); :mod:`kapwa.metrics.pairwise_edits` decides whether it is there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from kapwa.value_types import Json, Untyped

LANES = 32
BITS = 32
DEPTH = 4
"""Words a pass: their states stay in registers, and only the lowest word's carries go through memory."""
ROWS = LANES * BITS + 1
"""Most rows of a word's table: one a position and lane, and row 0 for tokens that no pattern has there."""

_INDEX = ir.IntType(64)
_VECTOR = ir.VectorType(ir.IntType(BITS), LANES)


def _jit(function: Callable[..., Untyped]) -> Untyped:
    """Compile for one thread, kept on disk where numba finds a folder it can write to."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba: "no locator available": no writable folder, so compile once a process
        return njit(nogil=True)(function)


def _splat(value: int) -> Untyped:
    return ir.Constant(_VECTOR, [value] * LANES)


class _Emitter:
    """Writes the instructions of a pass: vectors at unaligned places, steps of Myers' algorithm."""

    def __init__(self, builder: Untyped) -> None:
        self.builder = builder

    def load(self, base: Untyped, index: Untyped) -> Untyped:
        pointer = self.builder.bitcast(self.builder.gep(base, [index]), _VECTOR.as_pointer())
        vector = self.builder.load(pointer)
        vector.align = BITS // 8
        return vector

    def store(self, value: Json, base: Untyped, index: Untyped) -> None:
        pointer = self.builder.bitcast(self.builder.gep(base, [index]), _VECTOR.as_pointer())
        self.builder.store(value, pointer).align = BITS // 8

    def call(self, name: str, *values: Json) -> Untyped:
        module, full = self.builder.module, f"llvm.{name}.v{LANES}i{BITS}"
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(values))
        return self.builder.call(module.globals.get(full) or ir.Function(module, kind, full), values)

    def step(
        self, equal: Untyped, state: tuple[Untyped, Untyped], carry: tuple[Untyped, Untyped] | None
    ) -> tuple[Untyped, ...]:
        """One word of one column: new vertical deltas (+, −) and the horizontal ones, before their shift.

        ``carry``: the horizontal deltas of the word above, whose top bits come in; None: the matrix's first row,
        which grows by one a column.
        """
        b, (plus, minus), unit = self.builder, state, _splat(1)
        either = b.or_(equal, minus)
        if carry is not None:
            equal = b.or_(equal, b.lshr(carry[1], _splat(BITS - 1)))
        diagonal = b.or_(b.xor(b.add(b.and_(equal, plus), plus), plus), equal)
        up, down = b.or_(minus, b.not_(b.or_(diagonal, plus))), b.and_(plus, diagonal)
        if carry is None:
            up_in, down_in = b.or_(b.shl(up, unit), unit), b.shl(down, unit)
        else:
            up_in, down_in = self.call("fshl", up, carry[0], unit), self.call("fshl", down, carry[1], unit)
        return b.or_(down_in, b.not_(b.or_(either, up_in))), b.and_(up_in, either), up, down


def _pass(depth: int, first: bool) -> Untyped:
    """Return the intrinsic that takes a text's tokens through ``depth`` words of all lanes' matrices.

    It adds to ``scores`` what these words' rows add to the distance: the sum of the last column's vertical deltas.
    """

    @intrinsic
    def run(
        _: Untyped,
        table: Untyped,
        rows: Untyped,
        stride: Untyped,
        tokens: Untyped,
        carries: Untyped,
        masks: Untyped,
        scores: Untyped,
    ) -> Untyped:
        signature = types.void(table, rows, stride, tokens, carries, masks, scores)

        def generate(context: Untyped, builder: Untyped, signature: Untyped, values: Json) -> Untyped:
            def array(index: int) -> Untyped:
                return context.make_array(signature.args[index])(context, builder, values[index])

            _emit(builder, depth, first, [array(i).data for i in (0, 1, 3, 4, 5, 6)], (values[2], array(3).nitems))
            return context.get_dummy_value()

        return signature, generate

    return run


def _emit(builder: Untyped, depth: int, first: bool, pointers: list[Untyped], sizes: tuple[Untyped, Untyped]) -> None:
    """Write the loop over a text's tokens, the words' states in registers."""
    b, emit = builder, _Emitter(builder)
    table, rows, tokens, carries, masks, scores = pointers
    stride, count = sizes
    entry, column, done = b.block, b.append_basic_block("column"), b.append_basic_block("done")
    b.branch(column)
    b.position_at_end(column)
    position = b.phi(_INDEX)
    position.add_incoming(_INDEX(0), entry)
    states = [(b.phi(_VECTOR), b.phi(_VECTOR)) for _ in range(depth)]
    for plus, minus in states:
        plus.add_incoming(_splat(2**BITS - 1), entry)
        minus.add_incoming(_splat(0), entry)
    offset = b.mul(position, _INDEX(2 * LANES))
    below = b.add(offset, _INDEX(LANES))
    carry = None if first else (emit.load(carries, offset), emit.load(carries, below))
    base = b.mul(b.zext(b.load(b.gep(tokens, [position])), _INDEX), stride)
    after = []
    for word, state in enumerate(states):
        row = b.zext(b.load(b.gep(rows, [b.add(base, _INDEX(word))])), _INDEX)
        equal = emit.load(table, b.add(b.mul(row, _INDEX(LANES)), _INDEX(word * ROWS * LANES)))
        plus, minus, up, down = emit.step(equal, state, carry)
        carry = (up, down)
        after.append((plus, minus))
    assert carry is not None
    emit.store(carry[0], carries, offset)
    emit.store(carry[1], carries, below)
    following = b.add(position, _INDEX(1))
    position.add_incoming(following, column)
    for state, new in zip(states, after, strict=True):
        state[0].add_incoming(new[0], column)
        state[1].add_incoming(new[1], column)
    b.cbranch(b.icmp_signed("<", following, count), column, done)
    b.position_at_end(done)
    total = emit.load(scores, _INDEX(0))
    for word, (plus, minus) in enumerate(after):
        mask = emit.load(masks, _INDEX(word * LANES))
        gained, lost = (emit.call("ctpop", b.and_(deltas, mask)) for deltas in (plus, minus))
        total = b.add(total, b.sub(gained, lost))
    emit.store(total, scores, _INDEX(0))


_first_1, _first_2, _first_3, _first_4 = (_pass(depth, True) for depth in range(1, DEPTH + 1))
_next = _pass(DEPTH, False)


@_jit
def _prepare(
    ids: Untyped, starts: Untyped, lengths: Untyped, batch: Untyped, table: Untyped, rows: Untyped, masks: Untyped
) -> int:
    """Fill, for each word, the rows of the tokens its patterns have there; return how many words there are."""
    words = 0
    for lane in range(len(batch)):
        words = max(words, (lengths[batch[lane]] + BITS - 1) // BITS)
    rows[:] = 0
    for word in range(words):
        used = 1
        table[word, 0] = 0
        masks[word] = 0
        for lane in range(len(batch)):
            low, high = word * BITS, min(lengths[batch[lane]], (word + 1) * BITS)
            for position in range(low, high):
                bit = np.uint32(1) << np.uint32(position - low)
                masks[word, lane] |= bit
                token = ids[starts[batch[lane]] + position]
                row = rows[token, word]
                if row == 0:
                    row = used
                    used += 1
                    rows[token, word] = row
                    table[word, row] = 0
                table[word, row, lane] |= bit
    return words


@_jit
def _scan(
    tokens: Untyped, words: int, table: Untyped, rows: Untyped, masks: Untyped, carries: Untyped, scores: Untyped
) -> None:
    """Take a text through all words, the odd ones first, so that every later pass is a full one."""
    stride = rows.shape[1]
    scores[:] = len(tokens)
    depth = words % DEPTH
    if depth == 0:
        depth = DEPTH
    if depth == 1:
        _first_1(table, rows, stride, tokens, carries, masks, scores)
    elif depth == 2:
        _first_2(table, rows, stride, tokens, carries, masks, scores)
    elif depth == 3:
        _first_3(table, rows, stride, tokens, carries, masks, scores)
    else:
        _first_4(table, rows, stride, tokens, carries, masks, scores)
    for word in range(depth, words, DEPTH):
        remaining = rows.reshape(-1)[word:]
        _next(table[word:], remaining, stride, tokens, carries, masks[word:], scores)


@_jit
def fill(corpus: Untyped, size: int, patterns: Untyped, texts: Untyped, same: bool, origin: int, out: Untyped) -> None:
    """Write the distances of each of ``patterns`` to each of ``texts`` to ``out[lower - origin, higher - origin]``.

    Both are positions in ``corpus`` (ids, starts, lengths), best sorted by length. ``size``: the number of distinct
    ids. ``same``: both are one list, and each two are compared once.
    """
    ids, starts, lengths = corpus
    longest = 1
    for pattern in patterns:
        longest = max(longest, lengths[pattern])
    words = (longest + BITS - 1) // BITS
    for text in texts:
        longest = max(longest, lengths[text])
    table = np.empty((words, ROWS, LANES), np.uint32)
    rows = np.empty((size, words), np.uint32)
    masks = np.empty((words, LANES), np.uint32)
    carries = np.empty(longest * 2 * LANES, np.uint32)
    scores = np.empty(LANES, np.uint32)
    for start in range(0, len(patterns), LANES):
        batch = patterns[start : start + LANES]
        depth = _prepare(ids, starts, lengths, batch, table, rows, masks)
        for text in texts[start if same else 0 :]:
            if lengths[text] > 0 and depth > 0:
                tokens = ids[starts[text] : starts[text] + lengths[text]]
                _scan(tokens, depth, table, rows, masks, carries, scores)
            else:
                scores[:] = lengths[text]
                for lane in range(len(batch)):
                    scores[lane] += np.uint32(lengths[batch[lane]])
            for lane in range(len(batch)):
                low, high = min(batch[lane], text), max(batch[lane], text)
                out[low - origin, high - origin] = scores[lane]
