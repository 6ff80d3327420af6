package hclfile

import (
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Bounds of what is parsed. The parser and every walk over what it makes call themselves once a level and once an operator, and a token takes a hundred
// bytes, so a file that is small can still cost much.
const (
	MaxTokens    = 1 << 18
	MaxDepth     = 32      // braces, brackets, parentheses and templates inside each other
	MaxOperators = 1000    // in one expression
	MaxLiteral   = 1 << 14 // bytes of one string literal
	MaxDigits    = 20      // of one number; no exponent
)

// marks is no less than half the number of tokens that the lexer will make: a word, or a character that belongs to none, may each begin one. It is
// counted before the lexer runs, because the lexer keeps them all.
func marks(text []byte) int {
	count, word := 0, false
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			if !word {
				count++
			}
			word = true
		case c == ' ', c == '\t', !utf8.RuneStart(c):
			word = false
		default:
			count++
			word = false
		}
	}
	return count
}

// level is one open brace, bracket, parenthesis or template, with the operators seen in the expression that is being read in it.
type level struct {
	opened    hclsyntax.TokenType
	operators int
}

// bounds checks a file's text before the parser sees it.
func (f *File) bounds() []Finding {
	if glance(f.Text) {
		return nil
	}
	return f.tokens()
}

// tokens checks what the lexer makes of a file's text.
func (f *File) tokens() []Finding {
	if marks(f.Text) > MaxTokens {
		return []Finding{{Severity: Error, Summary: fmt.Sprintf("it has more than the %d words and marks that a file may have", MaxTokens), File: f.Name}}
	}
	tokens, _ := hclsyntax.LexConfig(f.Text, f.Name, hcl.InitialPos)
	levels := make([]level, 1, MaxDepth+1)
	for _, token := range tokens {
		here := &levels[len(levels)-1]
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
			hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			here.operators++
			if len(levels) > MaxDepth {
				return []Finding{f.At(Error, token.Range, fmt.Sprintf("this is nested more than %d levels deep", MaxDepth), "Take it apart.")}
			}
			levels = append(levels, level{opened: token.Type})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc,
			hclsyntax.TokenTemplateSeqEnd:
			if len(levels) > 1 {
				levels = levels[:len(levels)-1]
			}
		case hclsyntax.TokenNewline:
			if here.opened == hclsyntax.TokenOBrace || len(levels) == 1 {
				here.operators = 0
			}
		case hclsyntax.TokenComma:
			here.operators = 0
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
			if len(token.Bytes) > MaxLiteral {
				return []Finding{f.At(Error, token.Range, fmt.Sprintf("this text has %d bytes, more than the %d that one may have", len(token.Bytes), MaxLiteral), "")}
			}
		case hclsyntax.TokenNumberLit:
			if len(token.Bytes) > MaxDigits {
				return []Finding{f.At(Error, token.Range, fmt.Sprintf("this number has more than %d digits", MaxDigits), "")}
			}
			for _, c := range token.Bytes {
				if c == 'e' || c == 'E' {
					return []Finding{f.At(Error, token.Range, "this number has an exponent", "Write its digits.")}
				}
			}
		case hclsyntax.TokenIdent, hclsyntax.TokenComment, hclsyntax.TokenEqual, hclsyntax.TokenEOF:
		default:
			here.operators++
		}
		if levels[len(levels)-1].operators > MaxOperators {
			return []Finding{f.At(Error, token.Range, fmt.Sprintf("this expression has more than %d operators", MaxOperators), "Take it apart.")}
		}
	}
	return nil
}
