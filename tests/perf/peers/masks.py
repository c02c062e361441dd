"""The masks of `tessera bench --list --json` as functions of (batch, head, query, key), the form FlexAttention takes.

Nothing here is PyTorch's: positions may be tensors or plain numbers, and `table` makes of a list what positions index.
masks.json has small masks of each kind with their live pairs; tests hold these functions and Tessera's masks against it.
"""


def _window_starts(length, window, stride):
    """Where the window of each query begins, along one axis of a neighbourhood."""
    starts = []
    for i in range(length):
        middle = min(i // stride * stride + stride // 2, length - 1)
        starts.append(min(max(middle - window // 2, 0), length - window))
    return starts


def _document_ids(lengths):
    return [i for i, length in enumerate(lengths) for _ in range(length)]


def _neighbourhood(mask, table):
    weights, weight = [], 1
    for length in reversed(mask["lengths"]):
        weights.insert(0, weight)
        weight *= length
    axes = [(weight, length, window, table(_window_starts(length, window, stride)))
            for weight, length, window, stride in zip(weights, mask["lengths"], mask["windows"], mask["strides"])]

    def within(batch, head, q, k):
        live = None
        for weight, length, window, starts in axes:
            ahead = k // weight % length - starts[q // weight % length]
            here = (ahead >= 0) & (ahead < window)
            live = here if live is None else live & here
        return live

    return within


def mask_mod(mask, table):
    """None for a mask that allows all."""
    kind = mask["kind"]
    if kind == "full":
        return None
    if kind == "causal":
        return lambda b, h, q, k: k <= q
    if kind == "window":
        left, right = mask["left"], mask["right"]
        return lambda b, h, q, k: (k >= q - left) & (k <= q + right)
    if kind == "prefix":
        length = mask["length"]
        return lambda b, h, q, k: (k <= q) | (k < length)
    if kind == "sinks":
        count, left = mask["count"], mask["left"]
        return lambda b, h, q, k: (k <= q) & ((k >= q - left) | (k < count))
    if kind == "longformer":
        half, first = mask["half"], mask["globals"]
        return lambda b, h, q, k: (abs(q - k) <= half) | (q < first) | (k < first)
    if kind == "strided":
        stride = mask["stride"]
        return lambda b, h, q, k: (k <= q) & ((q - k < stride) | ((q - k) % stride == 0))
    if kind == "dilated":
        reach, dilation = mask["half"] * mask["dilation"], mask["dilation"]
        return lambda b, h, q, k: (abs(q - k) <= reach) & ((q - k) % dilation == 0)
    if kind == "block_diagonal":
        size = mask["size"]
        return lambda b, h, q, k: q // size == k // size
    if kind == "documents":
        ids = table(_document_ids(mask["lengths"]))
        return lambda b, h, q, k: (k <= q) & (ids[q] == ids[k])
    if kind == "blocks":
        block, side = mask["block"], len(mask["rows"])
        live = table([int(x) for row in mask["rows"] for x in row])
        return lambda b, h, q, k: live[q // block * side + k // block] != 0
    if kind == "video":
        _, rows, columns = mask["lengths"]
        frame, near = rows * columns, mask["near"]
        return lambda b, h, q, k: ((abs(q % frame // columns - k % frame // columns) <= near)
                                   & (abs(q % columns - k % columns) <= near) & (k // frame % 2 == 0)) | (k < frame)
    if kind == "neighbourhood":
        return _neighbourhood(mask, table)
    raise KeyError(f"no peer knows masks of kind '{kind}'")
