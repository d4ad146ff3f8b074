// SPDX-License-Identifier: Apache-2.0
// Lists instances by REST: node instances.js SERVER TOKEN.

import { ApiError, Client } from "./kairship_api.js";

declare const process: { argv: string[]; exit(code: number): never };

const [base, token] = process.argv.slice(2);
const client = new Client({ base, headers: { authorization: "Bearer " + token } });

async function main(): Promise<void> {
  const answer = await client.instance.listInstances({ page: 1, pageSize: 20 });
  for (const one of answer.items ?? []) console.log(one.metadata?.name, one.status?.state);
}

main().catch((e: unknown) => {
  console.error(e instanceof ApiError ? `${e.http}: ${e.message}` : e);
  process.exit(1);
});
