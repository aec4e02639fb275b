"""The choice of device, on machines without a GPU."""
import warnings

import numpy as np
import pytest

from stepwell import PyramidalReservoir, PyramidalReservoirClassifier, make_benchmark

DATA = make_benchmark("b-easy-small")
GRAPHS, Y = DATA.graphs[::5], DATA.y[::5]


def no_gpu():
    try:
        PyramidalReservoir(units=4, device="cuda").fit(GRAPHS).transform(GRAPHS)
    except RuntimeError:
        return True
    return False


needs_none = pytest.mark.skipif("not no_gpu()", reason="there is a GPU")


@needs_none
def test_cuda_without_a_gpu_is_an_error():
    with pytest.raises(RuntimeError, match="device cuda: .*use device cpu, or auto"):
        PyramidalReservoir(units=4, device="cuda").fit_transform(GRAPHS)
    with pytest.raises(RuntimeError, match="device cuda"):
        PyramidalReservoirClassifier(device="cuda").fit(GRAPHS, Y)


@needs_none
def test_auto_without_a_gpu_is_the_cpu_and_warns():
    here = PyramidalReservoir(units=4).fit_transform(GRAPHS)
    with pytest.warns(UserWarning, match="computing on the CPU: "):
        auto = PyramidalReservoir(units=4, device="auto").fit_transform(GRAPHS)
    np.testing.assert_array_equal(auto, here)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PyramidalReservoir(units=4, max_iter=200, device="cpu").fit_transform(GRAPHS)


def test_a_device_has_a_name():
    with pytest.raises(ValueError, match="device: expected cpu, cuda or auto, found 'gpu'"):
        PyramidalReservoir(units=4, device="gpu").fit_transform(GRAPHS)
