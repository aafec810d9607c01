// Quantities: the canonical text means the same amount, and arithmetic stays within its bounds.

#include <limits>

#include "base/fuzzing.h"
#include "crd/quantity.h"

namespace inference::crd {
namespace {

void check(std::string_view text) {
  const auto parsed = Quantity::parse(text);
  if (!parsed) {
    if (parsed.error().empty()) broken("an error says what is wrong");
    return;
  }
  const Quantity& amount = *parsed;
  const std::string canonical = amount.to_string();
  const auto again = Quantity::parse(canonical);
  if (!again || *again != amount) broken("the canonical text is the same amount", canonical);
  if (again->to_string() != canonical) broken("the canonical text is canonical", canonical);
  if (amount - *again != Quantity() || amount + Quantity() != amount || amount * 1 != amount)
    broken("zero and one change nothing", canonical);
  if (amount.is_whole() && Quantity(amount.units()) != amount) broken("a whole amount is its units", canonical);
  if (amount >= Quantity() && (amount + amount < amount || amount * 3 < amount + amount))
    broken("sums are capped and never wrap", canonical);
  for (const std::int64_t factor :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    if (((amount * factor) > Quantity()) != (amount != Quantity() && (amount > Quantity()) == (factor > 0)))
      broken("a product has the sign of its factors", canonical);
  }
}

}  // namespace
}  // namespace inference::crd

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::crd::check(inference::fuzz_text(data, size));
  return 0;
}
