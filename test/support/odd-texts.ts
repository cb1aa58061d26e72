/** JSON that any parse and print would spell differently. */
export const oddTexts = [
  '1.0',
  '1e400',
  '-0',
  '1E+2',
  '0.1000000000000000055511151231257827',
  '123456789012345678901234567890',
  '{"b":1,"a":2,"b":3}',
  '{ "a" :\n\t[ 1 , 2 ]\r\n}',
  String.raw`"\ud800 alone, \udc00\ud83d \u0041\/\b"`,
  '"ünïcödé 日本語 🎈 \u2028\u2029\u007f\ufeff"',
  '"\\"quoted\\\\\\""',
  'null',
  '""',
  '[[[[]]]]',
  '{"__proto__":1,"constructor":2}',
]
