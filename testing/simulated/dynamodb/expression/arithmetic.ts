/** DynamoDB adds decimals exactly: 0.1 + 0.2 is 0.3. */
export function addNumbers(a: number, b: number): number {
  if (Number.isInteger(a) && Number.isInteger(b)) return a + b
  const left = toDecimal(a)
  const right = toDecimal(b)
  const scale = Math.max(left.scale, right.scale)
  const total = scaled(left, scale) + scaled(right, scale)
  return Number(`${total}e-${scale}`)
}

interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

function toDecimal(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const scale = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  if (scale >= 0) return { digits, scale }
  return { digits: digits * 10n ** BigInt(-scale), scale: 0 }
}

function scaled(decimal: Decimal, scale: number): bigint {
  return decimal.digits * 10n ** BigInt(scale - decimal.scale)
}
