# Ids against PyPI's tokenizers on random text, with a fresh seed each time (it is printed).
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME text.ids_equal_those_of_pypi_tokenizers_on_random_text
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/fuzz_tokenizer.py --seconds 10
                   --binary $<TARGET_FILE:maglio_cli>)
  set_tests_properties(text.ids_equal_those_of_pypi_tokenizers_on_random_text
                       PROPERTIES LABELS text SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
