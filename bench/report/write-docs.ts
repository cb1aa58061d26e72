import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { DYNAMODB_LATENCY_MS, S3_LATENCY_MS } from '../bench.ts'
import type { Row } from '../rows.ts'
import { chart } from './chart.ts'
import { markdownTable } from './table.ts'

const docs = join(import.meta.dirname, '..', '..', 'docs')

/** The chart and the table as measured, into `docs/`. */
export async function writeDocs(rows: readonly Row[], date: Date): Promise<void> {
  const processor = cpus()[0]?.model.trim() ?? 'unknown processor'
  const markdown = `# Benchmark

Written by \`npm run bench -- --write-docs\` on ${date.toISOString().slice(0, 10)}: Node ${process.version},
${availableParallelism()} cores (${processor}), the embedded DynamoDB and S3 with ${DYNAMODB_LATENCY_MS} and ${S3_LATENCY_MS} ms added to each
request. Units are those that DynamoDB reports (indexes and refused writes included), prices are
list prices in us-east-1 (\`lib/prices.ts\`), and "worth of WRU" counts reads and S3 requests at their
price too. Throughput is this machine's: compare the columns with each other, not with AWS, where
one item takes 1,000 write units a second. "The sources" stand for the segmented queue of actor
frameworks, which reads and writes its metadata and a whole segment at each step (\`bench/baselines\`).

![Throughput and write units by algorithm](benchmark.svg)

${markdownTable(rows)}
`
  await mkdir(docs, { recursive: true })
  await writeFile(join(docs, 'benchmark.svg'), chart(rows))
  await writeFile(join(docs, 'benchmark.md'), markdown)
}
