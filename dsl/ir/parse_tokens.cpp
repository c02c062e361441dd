#include <tessera/dsl/ir/parse_tokens.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace tessera::ir::detail {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

std::size_t number_end(std::string_view text, std::size_t i) {
  std::size_t end = i + (text[i] == '-');
  if (text.substr(end, 3) == "inf" || text.substr(end, 3) == "nan") return end + 3;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  if (end < text.size() && text[end] == 'e') {
    std::size_t digits = end + 1;
    if (digits < text.size() && (text[digits] == '-' || text[digits] == '+')) ++digits;
    while (digits < text.size() && is_digit(text[digits])) end = ++digits;
  }
  return end;
}

std::size_t word_end(std::string_view text, std::size_t i) {
  while (i < text.size() && is_word(text[i])) ++i;
  return i;
}

// Whether a dtype follows the number that ends at `end`, with no blank between; moves `end` past it.
TokenKind with_dtype(std::string_view text, std::size_t& end) {
  bool typed = end + 1 < text.size() && text[end] == ':' && std::isalpha(static_cast<unsigned char>(text[end + 1]));
  if (!typed) return TokenKind::number;
  end = word_end(text, end + 1);
  return TokenKind::literal;
}

// The token at `i`, which is no blank; `end` is where it stops.
Token token_at(std::string_view text, std::size_t i, std::size_t& end) {
  char c = text[i];
  char ahead = i + 1 < text.size() ? text[i + 1] : '\0';
  std::size_t start = i;
  TokenKind kind = TokenKind::punctuation;
  end = i + 1;
  if (c == '%' || ((c == '@' || c == '#') && is_digit(ahead))) {
    kind = c == '%' ? TokenKind::value : c == '@' ? TokenKind::at : TokenKind::hash;
    start = i + 1;
    end = word_end(text, start);
  } else if (is_digit(c) || (c == '-' && (is_digit(ahead) || ahead == 'i' || ahead == 'n'))) {
    end = number_end(text, i);
    kind = with_dtype(text, end);
  } else if (is_word(c)) {
    end = word_end(text, i);
    std::string_view word = text.substr(i, end - i);
    kind = word == "inf" || word == "nan" ? with_dtype(text, end) : TokenKind::word;
  }
  return {kind, text.substr(start, end - start), 0, 0};
}

}  // namespace

Tokens::Tokens(std::string_view text, const char* file) : file_(file) {
  int line = 1;
  std::size_t line_start = 0, i = 0;
  while (i < text.size()) {
    if (text[i] == '\n') {
      ++line;
      line_start = ++i;
    } else if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else {
      std::size_t end = i;
      Token token = token_at(text, i, end);
      token.line = line;
      token.column = static_cast<int>(i - line_start) + 1;
      tokens_.push_back(token);
      i = end;
    }
  }
  tokens_.push_back({TokenKind::end, "end of text", line, static_cast<int>(text.size() - line_start) + 1});
}

bool Tokens::is(std::string_view text) const {
  return (peek().kind == TokenKind::word || peek().kind == TokenKind::punctuation) && peek().text == text;
}

bool Tokens::same_line() const { return next_ > 0 && !is(TokenKind::end) && tokens_[next_ - 1].line == peek().line; }

bool Tokens::accept(std::string_view text) {
  if (!is(text)) return false;
  take();
  return true;
}

void Tokens::expect(std::string_view text) {
  if (!accept(text)) fail(fmt::format("'{}'", text));
}

Token Tokens::expect(TokenKind kind, const char* what) {
  if (!is(kind)) fail(what);
  return take();
}

double Tokens::number() { return number_in(expect(TokenKind::number, "a number")); }

double Tokens::number_in(const Token& token) const {
  std::string_view digits = token.text.substr(0, token.text.find(':'));
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail_at(token, fmt::format("'{}' is not a number", digits));
  }
  return value;
}

int Tokens::integer() {
  Token token = peek();
  double value = number();
  if (value != std::floor(value) || std::fabs(value) > std::numeric_limits<int>::max()) {
    fail_at(token, fmt::format("'{}' is not a whole number of 32 bits", token.text));
  }
  return static_cast<int>(value);
}

int Tokens::index(TokenKind kind, const char* what) {
  Token token = expect(kind, what);
  int value = 0;
  auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (error != std::errc() || end != token.text.data() + token.text.size()) {
    fail_at(token, fmt::format("'{}' is not a number", token.text));
  }
  return value;
}

int Tokens::times() {
  Token token = expect(TokenKind::word, "a count like x2");
  int value = 0;
  const char* last = token.text.data() + token.text.size();
  auto [end, error] = std::from_chars(token.text.data() + 1, last, value);
  if (token.text[0] != 'x' || error != std::errc() || end != last) {
    fail_at(token, fmt::format("expected a count like x2, found '{}'", token.text));
  }
  return value;
}

void Tokens::fail(const std::string& expected) const {
  bool quote = !is(TokenKind::end);
  fail_at(peek(), fmt::format("expected {}, found {}", expected,
                              quote ? fmt::format("'{}'", peek().text) : "the end of the text"));
}

void Tokens::fail_at(const Token& token, const std::string& cause, const std::string& remedy) const {
  throw UserError({file_, token.line}, fmt::format("column {}: {}", token.column, cause), remedy);
}

}  // namespace tessera::ir::detail
