# Finds oneDNN 3 (the CPU build with GNU OpenMP from PyPI, or a system one). Sets SHIM_DNNL_LIBRARY, _INCLUDE, _DIRECTORY; empty when
# there is none and plain loops are built. Once found, a later run that loses it is an error: an isolated build environment that
# has vanished must not silently make a slow library.
set(SHIM_DNNL_LIBRARY "")
if(NOT TTNN_SHIM_ONEDNN STREQUAL "OFF")
  set(_prefixes ${DNNLROOT} $ENV{DNNLROOT})
  if(Python_EXECUTABLE)
    # The wheel's RECORD spells its files relative to site-packages (../../cmake/...): locate by name and resolve.
    execute_process(
      COMMAND ${Python_EXECUTABLE} -c
        "import importlib.metadata as m, pathlib
try:
    files = m.files('onednn-devel-cpu-gomp') or []
    config = next(f for f in files if f.name == 'dnnl-config.cmake')
    print(pathlib.Path(config.locate()).resolve().parents[3])
except (m.PackageNotFoundError, StopIteration):
    pass"
      OUTPUT_VARIABLE _wheel_prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(_wheel_prefix)
      list(APPEND _prefixes ${_wheel_prefix})
    endif()
  endif()
  if(_prefixes)
    find_package(dnnl 3 QUIET CONFIG PATHS ${_prefixes} NO_DEFAULT_PATH)
  endif()
  if(NOT dnnl_FOUND)
    find_package(dnnl 3 QUIET CONFIG)
  endif()
  if(dnnl_FOUND)
    get_target_property(SHIM_DNNL_INCLUDE DNNL::dnnl INTERFACE_INCLUDE_DIRECTORIES)
    foreach(_config RELEASE NOCONFIG RELWITHDEBINFO)
      if(NOT SHIM_DNNL_LIBRARY)
        get_target_property(_location DNNL::dnnl IMPORTED_LOCATION_${_config})
        if(_location)
          get_filename_component(_directory ${_location} DIRECTORY)
          set(SHIM_DNNL_LIBRARY ${_directory}/libdnnl.so.3)
          set(SHIM_DNNL_DIRECTORY ${_directory})
        endif()
      endif()
    endforeach()
    if(NOT EXISTS "${SHIM_DNNL_LIBRARY}")
      set(SHIM_DNNL_LIBRARY "")
    endif()
  endif()
endif()
if(SHIM_DNNL_LIBRARY)
  message(STATUS "oneDNN: ${SHIM_DNNL_LIBRARY}")
  set(TTNN_SHIM_ONEDNN_WAS_FOUND TRUE CACHE INTERNAL "")
elseif(TTNN_SHIM_ONEDNN STREQUAL "ON" OR TTNN_SHIM_ONEDNN_WAS_FOUND)
  message(FATAL_ERROR "oneDNN 3 was not found (pip install onednn-devel-cpu-gomp==2023.2.0, or -DTTNN_SHIM_ONEDNN=OFF in a fresh build tree)")
else()
  message(STATUS "oneDNN: not found, matmul and convolution use plain loops (slow)")
endif()
