# A program that a test starts to learn what loading costs a process.
add_executable(load_and_report ${CMAKE_CURRENT_SOURCE_DIR}/model/programs/load_and_report.cpp)
target_link_libraries(load_and_report PRIVATE test_support)
add_dependencies(model_tests load_and_report)
target_compile_definitions(model_tests PRIVATE
  MAGLIO_LOAD_AND_REPORT="$<TARGET_FILE:load_and_report>")
