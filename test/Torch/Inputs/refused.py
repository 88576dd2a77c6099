"""That a call is refused, and what its error says."""


def refused(kind, call, *parts):
    try:
        call()
    except kind as error:
        for part in parts:
            assert str(part) in str(error), (part, str(error))
        return
    raise AssertionError(f"expected {kind} about {parts}")
