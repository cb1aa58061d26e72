import { simulateProducers } from './simulated/producers.ts'
import { total } from './metering/meter.ts'
const throttle = { writeUnitsPerSecond: 1000, burstUnits: 1000 }
for (const [producers, keyed, th, slow] of [[1,0,0,0],[1,1,0,0],[8,0,1,0],[8,8,1,0],[32,0,1,0],[32,32,1,0],[8,8,0,0],[8,0,0,0],[80,64,0,1],[80,0,0,1]] as any) {
  const r = await simulateProducers({ producers, keyed, seconds: 8, itemBytes: 200, ...(th && { throttle }), ...(slow && { slowTransactions: true }) })
  const t: any = total(r.reading)
  console.log(JSON.stringify({ producers, keyed, th, slow, perS: r.perSecond, p99: r.p99Ms, gave: r.gaveWay, bg: r.backgroundErrors, wru: +(t.writeUnits / r.done).toFixed(2), rru: +(t.readUnits / r.done).toFixed(2), failed: +(t.failedWrites / r.done).toFixed(3), thr: +(t.throttled / r.done).toFixed(2), req: +(t.requests / r.done).toFixed(3) }))
}
