package ledger

// Quote is quote, for tests.
var Quote = quote
