# Mistakes that must not compile. Each file of <room>/must_not_compile holds one mistake and, under
# -DCORRECTED, the same line put right. Two tests a file: the mistake fails with the message that
# its first line names, and the corrected line compiles - so it cannot fail for another reason.
function(add_must_not_compile_tests room)
  file(GLOB mistakes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${room}/must_not_compile/*.cpp)
  foreach(file ${mistakes})
    get_filename_component(name ${file} NAME_WE)
    file(STRINGS ${file} first_line LIMIT_COUNT 1)
    string(REGEX REPLACE "^// expect: " "" phrase "${first_line}")
    set(compile ${CMAKE_COMMAND} -E env LC_ALL=C ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only
        -I ${CMAKE_SOURCE_DIR}/src -I ${CMAKE_SOURCE_DIR}/include -I ${CMAKE_SOURCE_DIR}/tests)
    add_test(NAME ${room}.MustNotCompile.${name} COMMAND ${compile} ${file})
    set_tests_properties(${room}.MustNotCompile.${name} PROPERTIES
      PASS_REGULAR_EXPRESSION "${phrase}" LABELS ${room})
    add_test(NAME ${room}.MustCompile.${name} COMMAND ${compile} -DCORRECTED ${file})
    set_tests_properties(${room}.MustCompile.${name} PROPERTIES LABELS ${room})
  endforeach()
endfunction()
