// Tokens of a kernel's text, and the complaints about them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/dsl/diagnostics.h>

namespace tessera::ir::detail {

// A literal is a number with its dtype: "0:i32".
enum class TokenKind : std::uint8_t { word, value, number, literal, at, hash, punctuation, end };

struct Token {
  TokenKind kind;
  std::string_view text;  // values, @0 and #0: without the sign in front
  int line;
  int column;
};

// A cursor over the tokens. Lines matter in one place: an op's operands end with its line at the latest.
class Tokens {
 public:
  Tokens(std::string_view text, const char* file);

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  bool is(std::string_view text) const;  // the next token is this word or punctuation
  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool same_line() const;  // the next token is on the line of the last one taken
  SourceLoc loc() const { return {file_, peek().line}; }

  Token take() { return tokens_[peek().kind == TokenKind::end ? next_ : next_++]; }
  bool accept(std::string_view text);
  void expect(std::string_view text);
  Token expect(TokenKind kind, const char* what);
  std::string word(const char* what) { return std::string(expect(TokenKind::word, what).text); }
  double number();
  double number_in(const Token& token) const;  // the number that a token starts with, up to a colon
  int integer();
  int index(TokenKind kind, const char* what);  // of @0 or #0
  int times();                                  // "x2"

  [[noreturn]] void fail(const std::string& expected) const;
  [[noreturn]] void fail_at(const Token& token, const std::string& cause, const std::string& remedy = {}) const;

 private:
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  const char* file_;
};

}  // namespace tessera::ir::detail
