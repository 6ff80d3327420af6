package hclfile

import "bytes"

// glanced is one open brace, bracket or parenthesis, with no fewer operators than the lexer would find in the expression that is being read in it.
type glanced struct {
	opened    byte
	operators int
}

// glance reports whether a text keeps the bounds for certain. That can be told from its bytes alone where it has no template, heredoc, escape or long
// comment; it counts too much rather than too little. Without it the lexer would read each file twice, which takes a third more time.
func glance(text []byte) bool {
	if marks(text) > MaxTokens {
		return false
	}
	var levels [MaxDepth + 1]glanced
	depth := 0
	for at := 0; at < len(text); {
		size := 1
		switch c, next := text[at], charAt(text, at+1); {
		case c == '\\', c == '<' && next == '<', c == '$' && next == '{', c == '%' && next == '{', c == '/' && next == '*':
			return false
		case c == '"':
			size = literal(text[at:])
			if size == 0 || depth == MaxDepth {
				return false
			}
			levels[depth].operators++
		case c == '#', c == '/' && next == '/':
			// Its line's end belongs to it, as the lexer has it.
			if size = bytes.IndexByte(text[at:], '\n') + 1; size == 0 {
				return true
			}
		case c == '{', c == '[', c == '(':
			levels[depth].operators++
			if depth++; depth > MaxDepth {
				return false
			}
			levels[depth] = glanced{opened: c}
		case c == '}', c == ']', c == ')':
			depth = max(0, depth-1)
		case c == '\n':
			if depth == 0 || levels[depth].opened == '{' {
				levels[depth].operators = 0
			}
		case c == ',':
			levels[depth].operators = 0
		case c == ' ', c == '\t':
		case isLetter(c):
			for size < len(text)-at && (isLetter(text[at+size]) || isDigit(text[at+size]) || text[at+size] == '_' || text[at+size] == '-') {
				size++
			}
		case isDigit(c):
			// Whether a point belongs to the number or is an operator, the lexer decides by what follows.
			for next := next; isDigit(next) || next == '.'; next = charAt(text, at+size) {
				if size++; next == '.' {
					levels[depth].operators++
				}
			}
			if after := charAt(text, at+size); size > MaxDigits || after == 'e' || after == 'E' {
				return false
			}
		default:
			levels[depth].operators++
		}
		if levels[depth].operators > MaxOperators {
			return false
		}
		at += size
	}
	return true
}

// literal is how many bytes the string has that begins a text, its quotes with it; 0 where that is not plain.
func literal(text []byte) int {
	end := bytes.IndexAny(text[1:], "\"\\$%\r\n")
	if end < 0 || end > MaxLiteral || text[1+end] != '"' {
		return 0
	}
	return end + 2
}

// charAt is 0 behind the end, which no text holds inside.
func charAt(text []byte, at int) byte {
	if at < len(text) {
		return text[at]
	}
	return 0
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
