// An existing application: calls the emitted model's program and goes on with its own work.
#include <iostream>

int model_main(int argc, char** argv);  // main() of model/main.cpp, renamed by CMakeLists.txt

int main() {
  char program[] = "app";
  char check[] = "--check";
  char* arguments[] = {program, check, nullptr};
  std::cout << "application: calling the model\n";
  const int code = model_main(2, arguments);
  std::cout << "application: the model returned " << code << "\n";
  return code;
}
