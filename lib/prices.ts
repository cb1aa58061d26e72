const million = 1_000_000

/** List prices in us-east-1 (2026), in dollars for a single unit. The one place that has them. */
export const prices = {
  writeUnit: 0.625 / million,
  readUnit: 0.125 / million,
  s3Put: 5 / million,
  s3Get: 0.4 / million,
  httpApiRequest: 1 / million,
  lambdaRequest: 0.2 / million,
  /** arm64 */
  lambdaGigabyteSecond: 0.0000133334,
  /** SQS FIFO; ten messages each at best, and send, receive and delete for each message. */
  sqsFifoRequest: 0.5 / million,
} as const
