// SPDX-License-Identifier: Apache-2.0
// Writes a random graph as the .npy files that graphctl partition reads:
//
//   npy_graph DIRECTORY NODES EDGES FLOATS [float16]
//
// edges.npy: int64 [2, EDGES], sources and destinations; feat.npy: float32 or float16 [NODES,
// FLOATS]. The same arguments give the same bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

uint64_t state = 1;

uint64_t Random() {  // splitmix64
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t Below(uint64_t n) { return ((Random() >> 32) * n) >> 32; }

// Returns the smaller of two draws, scattered over all ids, so that some nodes have more edges than
// others.
int64_t End(uint64_t nodes) {
  const uint64_t a = Below(nodes), b = Below(nodes);
  return static_cast<int64_t>((a < b ? a : b) * 1000003 % nodes);
}

template <class T, class F>
void Write(const std::string& path, const char* dtype, uint64_t rows, uint64_t columns, F&& next) {
  std::ofstream file(path, std::ios::binary);
  std::string header = "{'descr': '" + std::string(dtype) +
                       "', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                       std::to_string(columns) + "), }";
  header.resize((10 + header.size()) / 64 * 64 + 64 - 10 - 1, ' ');
  header += '\n';
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(static_cast<char>(header.size() & 255)).put(static_cast<char>(header.size() >> 8));
  file << header;
  std::vector<T> piece;
  for (uint64_t left = rows * columns; left > 0; left -= piece.size()) {
    piece.resize(left < 65536 ? left : 65536);
    for (T& value : piece) value = next();
    file.write(reinterpret_cast<const char*>(piece.data()),
               static_cast<std::streamsize>(piece.size() * sizeof(T)));
  }
  if (!file.flush()) {
    std::fprintf(stderr, "npy_graph: %s can't be written\n", path.c_str());
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t numbers[3] = {};
  const bool half = argc == 6 && std::string(argv[5]) == "float16";
  for (int i = 0; i < 3 && (argc == 5 || half); i++)
    numbers[i] = std::strtoull(argv[i + 2], nullptr, 10);
  const auto [nodes, edges, floats] = numbers;
  if (nodes < 1 || edges < 1 || floats < 1 || nodes >> 32 || edges >> 40 || floats >> 16) {
    std::fprintf(stderr, "usage: npy_graph DIRECTORY NODES EDGES FLOATS [float16]\n");
    return 2;
  }
  const std::string directory = argv[1];
  Write<int64_t>(directory + "/edges.npy", "<i8", 2, edges, [nodes = nodes] { return End(nodes); });
  if (half) {
    // The upper bits make numbers from 1 to 2.
    Write<uint16_t>(directory + "/feat.npy", "<f2", nodes, floats,
                    [] { return static_cast<uint16_t>(0x3c00 | Random() >> 54); });
    return 0;
  }
  Write<float>(directory + "/feat.npy", "<f4", nodes, floats,
               [] { return static_cast<float>(Random() >> 40); });
}
