import{J as e,Q as t,T as n,Y as r,a as i,f as a,i as o,it as s,ot as c,p as l}from"./app.js";import{f as u,s as d,t as f}from"./Scroll.js";import{s as p,t as m,u as h}from"./units.js";var g=[`rounding`,`whole_slots`,`history_gain`,`history_base`,`over_quota_by`,`rule`,`proportion_variant`,`score_weights`],_={quota_over_quota:`Divided by quota first, and what is left by over-quota weight`,min_share:`Divided by weight, with a smallest share for each`,proportion:`Divided in proportion to weights, up to what is asked for`,drf:`Divided by dominant share and weight`},v=e=>_[e]??`Divided by ${e}`;function y(e,t){return t===`unlimited`?0:Math.max(0,d(e)-d(t))}function b(e,t){let[n,r]=[u(e),u(t)],i=e=>d(n[e])===0?`0`:d(r[e])===0?`inf`:String(d(n[e])/d(r[e]));return JSON.stringify(Object.fromEntries(Object.keys({...n,...r}).map(e=>[e,i(e)])))}var x=e=>({...e});function S(e){let t=e=>e?JSON.parse(e):void 0,n={...e,mode:e.mode?.toLowerCase(),children_over_quota_by:e.children_over_quota_by?.toLowerCase(),quota:t(e.quota),limit:t(e.limit),guarantee:t(e.guarantee),over_quota_weight:t(e.over_quota_weight)};return Object.fromEntries(Object.entries(n).filter(([,e])=>e!=null))}function C(e,t,n){let r=new Map(t.map(e=>[e.name,e])),i=e.queues.edges.map(({node:e})=>r.get(e.name)??x(e)),a=new Set(e.queues.edges.map(({node:e})=>e.name));return[...i,...t.filter(e=>!a.has(e.name))].filter(e=>e.name!==n)}function w(e,t,n={}){let r=new Set(t.map(e=>e.parent)),i=new Map(e.division.queues.map(e=>[e.name,e])),a=t.map(e=>{let t=r.has(e.name)?void 0:i.get(e.name);return{...S(e),...t?{request:u(t.request),allocated:u(t.allocated)}:{}}}),{options:o={}}=JSON.parse(e.division.options),s=Object.fromEntries(Object.entries(o).filter(([e])=>g.includes(e)));return{algorithm:e.division.algorithm,options:s,capacity:{...u(e.division.capacity),...n},queues:a}}function T(e,t){let n=new Map(e.queues.map(e=>[e.name,e.fair_share]));return t.queues.flatMap(({name:e,fair_share:t})=>{let r=n.get(e)??{};return p([...Object.keys(r),...Object.keys(t)]).map(n=>({queue:e,slot:n,from:r[n]??`0`,to:t[n]??`0`})).filter(({from:e,to:t})=>e!==t&&d(e)!==d(t))})}var E=e(`
  query Queues($group: String!) {
    resource_group(name: $group) { config_revision }
    division(resource_group: $group, explain: true) {
      algorithm options capacity remaining
      queues { name parent fair_share state saturation_ratio quota limit request allocated }
      warnings { code queue slot detail }
      trace { queue sentence }
    }
    queues(resource_group: $group, first: 1000) {
      count
      edges {
        node {
          name parent priority weight mode created_at quota limit guarantee over_quota_weight
          children_over_quota_by min_share_ratio reclaimable preempt_min_runtime reclaim_min_runtime
        }
      }
    }
  }
`),D=e(`
  mutation SaveQueues($group: String!, $queues: [QueueInput!]!, $reason: String, $basis: String) {
    upsert_queues(resource_group: $group, queues: $queues, reason: $reason, if_revision: $basis) { created_count changed_count warnings { detail } }
  }
`),O=e(`
  mutation DeleteQueue($group: String!, $name: String!, $reason: String, $basis: String) {
    delete_queue(resource_group: $group, name: $name, reason: $reason, if_revision: $basis)
  }
`),k=e(`query Basis($group: String!) { resource_group(name: $group) { config_revision } }`),A=e(`query Plan($group: String!, $workload: JSONString!) { plan_reclaim(resource_group: $group, workload: $workload) }`),j=e(`query CompareDivisions($before: JSONString!, $after: JSONString!) { before: simulate_division(input: $before) after: simulate_division(input: $after) }`),M=e(`
  query PastDivision($group: String!, $day: Date!) {
    division_history(resource_group: $group, from: $day, to: $day, first: 1000) {
      count
      edges { node { queue algorithm fair_share allocated request quota calculated_at } }
    }
  }
`);function N(e,{changes:n=[],capacity:i={},removed:a}){let o=e?{before:JSON.stringify(w(e,C(e,[]))),after:JSON.stringify(w(e,C(e,n,a),i))}:null,l=JSON.stringify(o),[u,d]=s({key:``});return c(()=>{let e=JSON.parse(l);if(!e)return;let n=new AbortController,i=setTimeout(()=>{t(j,e,n.signal).then(({before:e,after:t})=>d({key:l,moved:T(JSON.parse(e),JSON.parse(t))}),e=>{!n.signal.aborted&&e instanceof r&&d({key:l,error:e})})},250);return()=>{clearTimeout(i),n.abort()}},[l]),u.key===l?u:{}}function P({moved:e,error:t}){return n(`section`,{class:`stack tight`,"aria-label":`What queues would deserve`,"aria-live":`polite`,children:[n(`h3`,{children:`What queues would deserve`}),t?n(a,{error:t}):e?e.length===0?n(`p`,{class:`muted small`,children:`No queue would deserve another amount now.`}):n(f,{children:n(`table`,{class:`data`,children:[n(`caption`,{class:`visually-hidden`,children:`What queues would deserve`}),n(`thead`,{children:n(`tr`,{children:[n(`th`,{scope:`col`,class:`name`,children:`Queue`}),n(`th`,{scope:`col`,children:`Slot`}),n(`th`,{scope:`col`,class:`number`,children:`Now`}),n(`th`,{scope:`col`,class:`number`,children:`Then`})]})}),n(`tbody`,{children:e.map(({queue:e,slot:t,from:r,to:i})=>n(`tr`,{children:[n(`th`,{scope:`row`,class:`name`,children:e}),n(`td`,{children:h(t)}),n(`td`,{class:`number`,title:r,children:m(t,r)}),n(`td`,{class:`number`,title:i,children:m(t,i)})]},`${e} ${t}`))})]})}):n(l,{})]})}function F(e,t,{reason:n,basis:r}){let i=t.map(S);return{document:D,variables:{group:e,queues:t,reason:n,basis:r},rest:{method:`PUT`,path:[`resource-groups`,e,`queues`],body:{queues:i,reason:n,if_revision:r}},command:[`weights`,`apply`,e,[`--file`,`-`],[`--reason`,n]],input:{queues:i}}}function I(e,t,{reason:n,basis:r}){return{document:O,variables:{group:e,name:t,reason:n,basis:r},rest:{method:`DELETE`,path:[`resource-groups`,e,`queues`,t],query:{reason:n,if_revision:r}}}}async function L(e,n,r,a){await i(e,t(D,{group:e,queues:n,...a}));let o=new Set(r.map(e=>e.name)),s=n.map(e=>e.name).filter(e=>!o.has(e));return z(e,async n=>{r.length>0&&await i(e,t(D,{group:e,queues:r,reason:`undone`,basis:n}));for(let n of s.toReversed())await t(O,{group:e,name:n,reason:`undone`,basis:null})})}async function R(e,n,r){return await i(e,t(O,{group:e,name:n.name,...r})),z(e,async r=>{await i(e,t(D,{group:e,queues:[n],reason:`undone`,basis:r}))})}async function z(e,n){let r=await t(k,{group:e});return o(e),async()=>{await n(r.resource_group?.config_revision??null),o(e)}}export{P as a,A as c,v as d,y as f,L as i,E as l,R as n,N as o,b as p,F as r,M as s,I as t,x as u};