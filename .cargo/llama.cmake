# Read by llama.cpp's build as part of its projects (CMAKE_PROJECT_INCLUDE in config.toml): what would be compiled for nothing is not.

# Its command line, HTTP client and chat templates in C++. The bindings switch them on, and nothing of theirs switches them off.
set(LLAMA_BUILD_COMMON OFF)

# In a build for development, what is around the arithmetic is compiled quickly, and the arithmetic (ggml) well.
if(CMAKE_BINARY_DIR MATCHES "/debug/build/" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  if(PROJECT_NAME STREQUAL "llama.cpp")
    set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
  elseif(PROJECT_NAME STREQUAL "ggml")
    set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
  endif()
endif()
