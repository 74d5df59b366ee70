# The cffi extension ttnn_shim/_native/_core.abi3.so: the marked part of abi.h is its cdef.
find_package(Python 3.11 COMPONENTS Interpreter Development.Module)
if(NOT Python_FOUND)
  message(STATUS "Python extension: no Python >= 3.11 with headers, not built")
  return()
endif()
execute_process(COMMAND ${Python_EXECUTABLE} -c "import cffi" RESULT_VARIABLE _no_cffi OUTPUT_QUIET ERROR_QUIET)
if(_no_cffi)
  message(STATUS "Python extension: cffi is not installed, not built")
  return()
endif()
enable_language(C)
set(_core_c ${CMAKE_CURRENT_BINARY_DIR}/_core.c)
add_custom_command(
  OUTPUT ${_core_c}
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/python/ttnn_shim/_native/emit_extension.py
          ${CMAKE_CURRENT_SOURCE_DIR}/include/ttnn_shim/abi.h ${_core_c}
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/ttnn_shim/abi.h ${CMAKE_CURRENT_SOURCE_DIR}/python/ttnn_shim/_native/emit_extension.py
  VERBATIM)
add_library(_core MODULE ${_core_c})
target_include_directories(_core PRIVATE ${Python_INCLUDE_DIRS} ${CMAKE_CURRENT_SOURCE_DIR}/include)
target_compile_definitions(_core PRIVATE Py_LIMITED_API=0x030B0000)
target_link_libraries(_core PRIVATE ttnn_shim)
set_target_properties(_core PROPERTIES PREFIX "" SUFFIX ".abi3.so" INSTALL_RPATH "$ORIGIN/../lib")
set(SHIM_HAS_EXTENSION TRUE)
