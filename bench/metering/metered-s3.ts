import type { Sender } from './commands.ts'
import { verbOf } from './commands.ts'
import type { Meter, Tally } from './meter.ts'

/** How S3 prices a request: a list like a PUT, a HEAD like a GET, a delete not at all. */
const priceClasses: Readonly<Record<string, Partial<Tally>>> = {
  put: { s3Puts: 1 },
  list: { s3Puts: 1 },
  copy: { s3Puts: 1 },
  get: { s3Gets: 1 },
  head: { s3Gets: 1 },
}

export function meterS3(
  inner: Sender,
  metering: { readonly meter: Meter; latency(): Promise<void> },
): Sender {
  return {
    async send(command) {
      const verb = verbOf(command)
      metering.meter.add(`s3 ${verb}`, { requests: 1, ...priceClasses[verb] })
      await metering.latency()
      return inner.send(command)
    },
  }
}
